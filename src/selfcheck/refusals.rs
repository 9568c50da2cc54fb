//! What a logical update refuses, and that a failing pass leaves the gradients alone.

use std::convert::Infallible;

use crate::autograd::gradients::Gradients;
use crate::autograd::rows::Rows;
use crate::decoder::microbatch::{Microbatch, Partition};
use crate::decoder::nine_targets;
use crate::decoder::outcome::{Declared, Failed, Outcome, Refusal};
use crate::decoder::pass::{self, Arithmetic};
use crate::decoder::update::MeanLoss;
use crate::selfcheck::Answers;
use crate::selfcheck::update::{decoder, trainer};

/// What an update came to, in words that can be compared.
fn told<E>(outcome: Result<Outcome, Failed<E>>) -> String {
    match outcome {
        Ok(Outcome::Applied(_)) => "applied".to_owned(),
        Ok(Outcome::Skipped(_)) => "skipped".to_owned(),
        Err(Failed::Refused(refusal)) => refusal.to_string(),
        Err(Failed::Forward { microbatch, .. }) => format!("forward of microbatch {microbatch} failed"),
        Err(Failed::Recompute { source, .. }) => source.to_string(),
        Err(Failed::Step(not_finite)) => not_finite.to_string(),
    }
}

pub(super) fn ask(answers: &mut Answers) {
    let (decoder, parameters) = decoder();
    let mut trainer = trainer(parameters.clone(), 1);
    let nine = nine_targets::microbatches(2);
    let evaluation = nine[1].clone().in_partition(Partition::Evaluation);
    let empty = Microbatch::new(vec![257], vec![None], Rows::grid(1, 1)).expect("bug: one of each");
    let refused = |refusal: Refusal| refusal.to_string();
    for (question, microbatches, refusal) in [
        ("no microbatch", vec![], Refusal::NoMicrobatch),
        ("a microbatch without targets", vec![nine[0].clone(), empty], Refusal::NoTarget { microbatch: 1 }),
        ("a microbatch for evaluation", vec![nine[0].clone(), evaluation], Refusal::NotTraining { microbatch: 1 }),
    ] {
        answers.same(question, refused(refusal), told(trainer.update(&decoder, &microbatches)));
    }
    let huge = [Declared { valid_targets: 1 << 53, partition: Partition::Training }; 2];
    let outcome = trainer.update_with(&huge, |_, _| -> Result<MeanLoss, ()> { Err(()) });
    answers.same("more than 2^53 targets", refused(Refusal::TooManyTargets), told(outcome));
    let declared: Vec<Declared> = nine.iter().map(Declared::from).collect();
    let outcome = trainer.update_with(&declared, |tape, index| {
        let sum = decoder.loss_sum(tape, &nine[index], crate::numeric::float::Precision::Float64);
        Ok::<_, Infallible>(MeanLoss { mean: sum, valid_targets: nine[index].valid_targets() + index as u64 })
    });
    let refusal = Refusal::CountDiffers { microbatch: 1, declared: 3, counted: 4 };
    answers.same("a forward that counts other targets than declared", refused(refusal), told(outcome));
    trainer.gradients_mut().values_mut()[0] = 1.0;
    answers.same("dirty gradients", refused(Refusal::DirtyGradients), told(trainer.update(&decoder, &nine)));

    let mut gradients = Gradients::zeros(&parameters);
    gradients.values_mut().fill(0.25);
    let (arithmetic, arena) = (Arithmetic::default(), &mut Default::default());
    let overflowed = pass::backward(&decoder, &parameters, &nine[0], f64::INFINITY, arithmetic, &mut gradients, arena);
    let overflowed = overflowed.map_or_else(|overflow| overflow.to_string(), |loss| loss.to_string());
    answers.same("a backward pass with an infinite seed", "the gradient of embed is not finite", overflowed);
    let changed = gradients.values().iter().filter(|x| x.to_bits() != 0.25_f64.to_bits()).count();
    answers.equal("gradients that it changed", 0, changed);
}

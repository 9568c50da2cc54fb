//! Recompute of every block of [3, 4, 4] with dropout: bits, counts, storage, refusals.

use std::num::NonZeroUsize;

use crate::autograd::arena::Arena;
use crate::autograd::commit::NotCommitted;
use crate::autograd::gradients::Gradients;
use crate::autograd::parameters::Parameters;
use crate::autograd::recompute::{Mismatch, Mistake, Plan, Reruns};
use crate::autograd::retained::Retained;
use crate::autograd::tape::{Options, Tape};
use crate::decoder::model::Blocks;
use crate::decoder::nine_targets;
use crate::decoder::outcome::Outcome;
use crate::numeric::float::Precision;
use crate::selfcheck::Answers;
use crate::selfcheck::dropout::example;
use crate::selfcheck::fan_out::differing;
use crate::selfcheck::update::{decoder, trainer};

/// Everything that one pass leaves.
struct Ran {
    logits: Vec<f64>,
    gradients: Gradients,
    retained: Retained,
    outcome: Result<Reruns, NotCommitted>,
    recipes_after: usize,
}

/// One pass, with mistakes made between forward and backward; they get parameters that differ in one element of block 1.
fn run(recompute: Plan, mistake: impl for<'a> FnOnce(&'a Parameters) -> Vec<Mistake<'a>>) -> Ran {
    let (decoder, parameters) = decoder();
    let mut other = parameters.clone();
    let changed =
        other.tensors().iter().find(|tensor| tensor.name == "blocks.1.wo").map_or(0, |tensor| tensor.span.start);
    other.values_mut()[changed] += 1e-12;
    let (full, mut dropout, mut arena) = (nine_targets::full_batch(), example(), Arena::default());
    let mut gradients = Gradients::zeros(&parameters);
    let blocks = Blocks { recompute, dropout: Some(&mut dropout) };
    let logits = {
        let mut tape = Tape::new(&parameters, &mut arena, Options::default());
        let hidden = decoder.hidden_with(&mut tape, &full, blocks);
        let logits = decoder.logits(&mut tape, hidden);
        tape.value(logits).to_vec()
    };
    dropout.set_counter(0);
    let mut tape = Tape::new(&parameters, &mut arena, Options::default());
    let blocks = Blocks { recompute, dropout: Some(&mut dropout) };
    let loss = decoder.loss_sum_with(&mut tape, &full, Precision::Float64, blocks);
    let retained = tape.retained();
    mistake(&other).into_iter().for_each(|mistake| tape.make(mistake));
    let outcome = tape.backward_checked(loss, 1.0, &mut gradients);
    Ran { logits, gradients, retained, outcome, recipes_after: arena.recipes() }
}

pub(super) fn ask(answers: &mut Answers) {
    let ordinary = run(Plan::Record, |_| vec![]);
    let recomputed = run(Plan::EACH, |_| vec![]);
    answers.equal("logits in which recompute differs", 0, differing(&ordinary.logits, &recomputed.logits));
    answers.equal(
        "gradients in which recompute differs",
        0,
        differing(ordinary.gradients.values(), recomputed.gradients.values()),
    );
    let (with, without) = (weights(Plan::EACH), weights(Plan::Record));
    answers.equal("weights in which recompute differs after three updates", 0, differing(&with, &without));
    answers.equal("extra block forwards, without and on the tape", (0, 3), extra(&recomputed));
    answers.equal("recompute nodes", 3, recomputed.retained.recompute_nodes);
    let recipes = recomputed.retained.recipes;
    answers.equal(
        "constants and rotary tables in the three recipes: numbers and bytes",
        (102, 816),
        (recipes, Retained::BYTES * recipes),
    );
    answers.equal("recipes held after the pass", 0, recomputed.recipes_after);
    answers.below(
        "payload bytes of an ordinary tape at the loss: node values and what they saved",
        212_352,
        ordinary.retained.bytes(),
    );
    answers.below(
        "the same with recompute, the recipes' constants and tables included",
        112_752,
        recomputed.retained.bytes(),
    );
    for length in [2, 3] {
        let plan = Plan::Every(NonZeroUsize::new(length).expect("bug: 0"));
        let ran = run(plan, |_| vec![]);
        answers.equal(format!("extra block forwards, {length} blocks to a segment"), (0, 3), extra(&ran));
        let apart = differing(ran.gradients.values(), ordinary.gradients.values());
        answers.equal(format!("gradients in which it differs, {length} blocks to a segment"), 0, apart);
    }
    refusals(answers);
    // The first row of the table that the texts look up is that of "h".
    let first = recomputed.gradients.first_difference(&run(Plan::EACH, unchecked).gradients, 1e-12);
    let first =
        first.map_or_else(|| "none".to_owned(), |first| format!("element {} of {}", first.element, first.parameter));
    let question = "the first derivative that differs when other masks are drawn and nobody looks";
    answers.same(question, format!("element {} of embed", 4 * u32::from(b'h')), first);
}

/// Block runs beyond the forward's; none that could be asked for where the pass was refused.
fn extra(ran: &Ran) -> (u64, u64) {
    ran.outcome.as_ref().map_or((u64::MAX, u64::MAX), |reruns| (reruns.advances, reruns.taped))
}

fn weights(recompute: Plan) -> Vec<f64> {
    let (decoder, parameters) = decoder();
    let (mut trainer, mut dropout) = (trainer(parameters, 2000), example());
    for _ in 0..3 {
        let microbatches = nine_targets::microbatches(2);
        let outcome = trainer.update_recomputing(&decoder, &microbatches, recompute, Some(&mut dropout));
        if !matches!(outcome, Ok(Outcome::Applied(_))) {
            return vec![];
        }
    }
    trainer.parameters().values().to_vec()
}

/// Other masks, and no comparison.
fn unchecked(_: &Parameters) -> Vec<Mistake<'_>> {
    vec![Mistake::Seed(40), Mistake::Unchecked]
}

fn refusals(answers: &mut Answers) {
    let kind = |outcome: &Result<Reruns, NotCommitted>| match outcome {
        Err(NotCommitted::Recompute(Mismatch::Output { .. })) => "refused: another output",
        Err(NotCommitted::Recompute(Mismatch::Precision { .. })) => "refused: another precision",
        Err(NotCommitted::Recompute(Mismatch::Parameter { .. })) => "refused: another parameter",
        Err(NotCommitted::Overflow(_)) => "overflow",
        Ok(_) => "accepted",
    };
    let mut ask = |question: &str, expected: &'static str, ran: Ran| {
        answers.same(question, expected, kind(&ran.outcome));
        let written = ran.gradients.values().iter().filter(|x| x.to_bits() != 0).count();
        answers.equal("gradients written by it", 0, written);
    };
    ask("recompute with another mask", "refused: another output", run(Plan::EACH, |_| vec![Mistake::Seed(40)]));
    let precision = run(Plan::EACH, |_| vec![Mistake::Precision(Precision::Float32)]);
    ask("recompute in another precision", "refused: another precision", precision);
    let parameters = run(Plan::EACH, |other| vec![Mistake::Parameters(other)]);
    ask("recompute with a parameter changed by 1e-12", "refused: another parameter", parameters);
}

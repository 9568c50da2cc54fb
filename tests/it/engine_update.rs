//! The logical update: what it refuses, how it skips, how it fails, and that nothing is left half done.

use std::convert::Infallible;

use receipt::autograd::{Arena, Gradients, Options, Overflow, Parameters, Shape, Tape, Tensor};
use receipt::decoder::outcome::{Applied, Declared, Failed, Outcome, OverflowAt, Refusal, Skipped};
use receipt::decoder::pass::Arithmetic;
use receipt::decoder::update::{MeanLoss, Recipe};
use receipt::decoder::{Decoder, Microbatch, Partition, Trainer, nine_targets};
use receipt::optimizer::loss_scale::{Decision, Dynamic};
use receipt::optimizer::{AdamW, LossScale, NotFinite, Optimizer, Schedule, adamw};

use crate::engine_fixtures::{bits, default_decoder};

fn trainer(parameters: Parameters, loss_scale: LossScale) -> Trainer {
    let adamw = AdamW::new(adamw::Settings::default(), parameters.values().len());
    let recipe = Recipe {
        optimizer: Optimizer::AdamW(adamw),
        loss_scale,
        schedule: Schedule::Linear { peak: 0.01, warmup_steps: 0, total_steps: 100 },
        max_norm: Some(1.0),
        arithmetic: Arithmetic::default(),
    };
    Trainer::new(parameters, recipe)
}

fn dynamic(growth_interval: u64) -> LossScale {
    LossScale::dynamic(Dynamic { initial: 128.0, growth_interval, ..Dynamic::default() }).unwrap()
}

/// Every bit that a skipped or failed update must leave alone.
fn state(trainer: &Trainer) -> (Vec<u64>, Vec<u64>, [u64; 4], u64) {
    let Optimizer::AdamW(adamw) = &trainer.recipe().optimizer else { panic!("AdamW was asked for") };
    let state = adamw.state();
    let moments = [bits(&state.first), bits(&state.second)].concat();
    let powers = [state.beta1_power, state.beta2_power, trainer.next_learning_rate()].map(f64::to_bits);
    let scalars = [powers[0], powers[1], powers[2], state.steps];
    (bits(trainer.parameters().values()), moments, scalars, trainer.applied_updates())
}

fn declared(microbatches: &[Microbatch]) -> Vec<Declared> {
    microbatches.iter().map(Declared::from).collect()
}

/// The decoder's mean loss, on logits that the caller may do more with.
fn mean_loss(decoder: &Decoder, tape: &mut Tape<'_>, microbatch: &Microbatch, poisoned: bool) -> MeanLoss {
    let hidden = decoder.hidden(tape, microbatch);
    let logits = decoder.logits(tape, hidden);
    let targets = microbatch.targets().to_vec().into();
    let sum = tape.cross_entropy(logits, targets, tape.options().precision);
    let valid_targets = microbatch.valid_targets();
    let mut mean = tape.divide(sum, valid_targets as f64);
    if poisoned {
        let zero = tape.scale(logits, 0.0);
        let zero = tape.sum(zero);
        let branch = tape.scale(zero, f64::MAX);
        assert_eq!(tape.scalar(branch), 0.0, "the poison does not show in the loss");
        mean = tape.add(mean, branch);
    }
    MeanLoss { mean, valid_targets }
}

/// After a committed warm-up the second microbatch overflows in its backward pass.
#[test]
fn a_late_overflow_leaves_every_bit_and_halves_the_scale() {
    let (decoder, parameters) = default_decoder();
    let microbatches = nine_targets::microbatches(2);
    let mut poisoned = trainer(parameters.clone(), dynamic(2000));
    let mut healthy = trainer(parameters, dynamic(2000));
    for trainer in [&mut poisoned, &mut healthy] {
        let outcome = trainer.update(&decoder, &microbatches).unwrap();
        assert!(matches!(outcome, Outcome::Applied(_)));
        assert_eq!(trainer.recipe().loss_scale.value(), 128.0);
    }
    let before = state(&poisoned);
    let rate = poisoned.next_learning_rate();

    let outcome = poisoned.update_with(&declared(&microbatches), |tape, index| {
        Ok::<_, Infallible>(mean_loss(&decoder, tape, &microbatches[index], index == 1))
    });
    let Ok(Outcome::Skipped(Skipped { microbatches_completed, at, scale })) = outcome else { panic!("{outcome:?}") };
    assert_eq!(microbatches_completed, 1);
    assert_eq!(at, OverflowAt::Backward(Overflow { parameter: "embed".to_owned() }));
    assert_eq!(scale, Decision { before: 128.0, after: 64.0 });
    assert_eq!(state(&poisoned), before);
    assert!(poisoned.gradients().is_clear());
    assert_eq!(poisoned.recipe().loss_scale.value(), 64.0);

    // The scheduled step is still to be had: the retry has its rate, and lands where the healthy run lands.
    let retried = poisoned.update(&decoder, &microbatches).unwrap();
    let Outcome::Applied(Applied { learning_rate, .. }) = retried else { panic!("{retried:?}") };
    assert_eq!(learning_rate, rate);
    let _ = healthy.update(&decoder, &microbatches).unwrap();
    assert_eq!(state(&poisoned), state(&healthy));
}

/// A forward of one's own on unfused logits gives the bits of the decoder's.
#[test]
fn the_callers_forward_is_as_good_as_the_decoders() {
    let (decoder, parameters) = default_decoder();
    let microbatches = nine_targets::microbatches(2);
    let mut own = trainer(parameters.clone(), dynamic(1));
    let mut given = trainer(parameters, dynamic(1));
    let with_own = own.update_with(&declared(&microbatches), |tape, index| {
        Ok::<_, Infallible>(mean_loss(&decoder, tape, &microbatches[index], false))
    });
    let with_given = given.update(&decoder, &microbatches);
    assert_eq!(with_own.unwrap(), with_given.unwrap());
    assert_eq!(state(&own), state(&given));
    assert_eq!(own.recipe().loss_scale.value(), 256.0);
}

#[test]
fn what_is_no_update_is_refused() {
    let (decoder, parameters) = default_decoder();
    let mut trainer = trainer(parameters, dynamic(1));
    let before = state(&trainer);
    let training = nine_targets::microbatches(2);
    let evaluation = training[1].clone().in_partition(Partition::Evaluation);
    let empty = Microbatch::new(vec![257], vec![None], receipt::autograd::rows::Rows::grid(1, 1)).unwrap();
    for (microbatches, refusal) in [
        (vec![], Refusal::NoMicrobatch),
        (vec![training[0].clone(), empty], Refusal::NoTarget { microbatch: 1 }),
        (vec![training[0].clone(), evaluation], Refusal::NotTraining { microbatch: 1 }),
    ] {
        assert_eq!(trainer.update(&decoder, &microbatches), Err(Failed::Refused(refusal)));
    }
    let huge = [Declared { valid_targets: 1 << 53, partition: Partition::Training }; 2];
    let never = |_: &mut Tape<'_>, _| -> Result<MeanLoss, Infallible> { panic!("the forward must not run") };
    assert_eq!(trainer.update_with(&huge, never), Err(Failed::Refused(Refusal::TooManyTargets)));

    trainer.gradients_mut().values_mut()[3] = 0.5;
    assert_eq!(trainer.update(&decoder, &training), Err(Failed::Refused(Refusal::DirtyGradients)));
    assert_eq!(trainer.gradients().values()[3], 0.5, "somebody else's gradients are left to them");
    trainer.gradients_mut().clear();
    assert_eq!(state(&trainer), before);
    assert_eq!(trainer.recipe().loss_scale.value(), 128.0, "a refusal is no overflow");
    assert!(trainer.update(&decoder, &training).is_ok());
}

#[test]
fn a_forward_that_counts_otherwise_is_refused() {
    let (decoder, parameters) = default_decoder();
    let mut trainer = trainer(parameters, dynamic(1));
    let before = state(&trainer);
    let microbatches = nine_targets::microbatches(2);
    let outcome = trainer.update_with(&declared(&microbatches), |tape, index| {
        let loss = mean_loss(&decoder, tape, &microbatches[index], false);
        Ok::<_, Infallible>(MeanLoss { valid_targets: loss.valid_targets + index as u64, ..loss })
    });
    let refusal = Refusal::CountDiffers { microbatch: 1, declared: 3, counted: 4 };
    assert_eq!(outcome, Err(Failed::Refused(refusal)));
    assert_eq!(state(&trainer), before);
    assert!(trainer.gradients().is_clear());
}

#[test]
fn a_failing_forward_clears_what_was_added() {
    let (decoder, parameters) = default_decoder();
    let mut trainer = trainer(parameters, dynamic(1));
    let before = state(&trainer);
    let microbatches = nine_targets::microbatches(1);
    let outcome = trainer.update_with(&declared(&microbatches), |tape, index| match index {
        2 => Err("no data"),
        _ => Ok(mean_loss(&decoder, tape, &microbatches[index], false)),
    });
    assert_eq!(outcome, Err(Failed::Forward { microbatch: 2, source: "no data" }));
    assert_eq!(outcome.unwrap_err().to_string(), "forward of microbatch 2 failed: no data");
    assert_eq!(state(&trainer), before);
    assert!(trainer.gradients().is_clear());

    let long = [Microbatch::of_texts(&["longer than eight"])];
    assert!(matches!(trainer.update(&decoder, &long), Err(Failed::Forward { microbatch: 0, .. })));
}

/// One parameter of four elements, and a loss that is linear in it.
fn linear_update(factors: &[f64], loss_scale: f64) -> (Result<Outcome, Failed<Infallible>>, Trainer) {
    let parameters = Parameters::new([("w".to_owned(), Tensor::new(Shape::vector(4), vec![1e-300; 4]))]);
    let mut trainer = trainer(parameters, LossScale::fixed(loss_scale).unwrap());
    let one = Declared { valid_targets: 1, partition: Partition::Training };
    let before = state(&trainer);
    let outcome = trainer.update_with(&vec![one; factors.len()], |tape, index| {
        let w = tape.parameter(tape.parameters().id("w").unwrap());
        let sum = tape.sum(w);
        Ok(MeanLoss { mean: tape.scale(sum, factors[index]), valid_targets: 1 })
    });
    if !matches!(outcome, Ok(Outcome::Applied(_))) {
        assert_eq!(state(&trainer), before);
    }
    assert!(trainer.gradients().is_clear());
    (outcome, trainer)
}

#[test]
fn overflows_of_every_kind_are_skips() {
    let at = |factors: &[f64], scale| match linear_update(factors, scale).0 {
        Ok(Outcome::Skipped(skipped)) => (skipped.microbatches_completed, skipped.at),
        other => panic!("{other:?}"),
    };
    let backward = || OverflowAt::Backward(Overflow { parameter: "w".to_owned() });
    let huge = 0.75 * f64::MAX;
    assert_eq!(at(&[1.0, f64::INFINITY], 1.0), (1, OverflowAt::Loss));
    assert_eq!(at(&[1.0, huge], 4.0), (1, backward()), "the backward pass overflows");
    assert_eq!(at(&[huge, huge], 2.0), (1, backward()), "each gradient is finite, their sum is not");
    assert_eq!(at(&[huge], 1.0), (1, OverflowAt::Norm), "each element is finite, the norm is not");
}

#[test]
fn a_step_that_overflows_is_an_error() {
    let parameters = Parameters::new([("w".to_owned(), Tensor::new(Shape::SCALAR, vec![1.0]))]);
    let adamw = AdamW::new(adamw::Settings::default(), 1);
    let recipe = Recipe {
        optimizer: Optimizer::AdamW(adamw),
        loss_scale: dynamic(1),
        schedule: Schedule::Constant { peak: 0.01 },
        max_norm: None,
        arithmetic: Arithmetic::default(),
    };
    let mut trainer = Trainer::new(parameters, recipe);
    let before = state(&trainer);
    let one = [Declared { valid_targets: 1, partition: Partition::Training }];
    let outcome = trainer.update_with(&one, |tape, _| {
        let w = tape.parameter(tape.parameters().id("w").unwrap());
        Ok::<_, Infallible>(MeanLoss { mean: tape.scale(w, 1e200), valid_targets: 1 })
    });
    assert_eq!(outcome, Err(Failed::Step(NotFinite { step: 1, element: 0 })));
    assert_eq!(state(&trainer), before);
    assert!(trainer.gradients().is_clear());
    assert_eq!(trainer.recipe().loss_scale.value(), 128.0);
}

/// A pass that fails for one parameter commits none.
#[test]
fn gradients_are_committed_together_or_not_at_all() {
    let scalar = |name: &str| (name.to_owned(), Tensor::new(Shape::SCALAR, vec![1.0]));
    let parameters = Parameters::new([scalar("a"), scalar("b")]);
    let mut gradients = Gradients::zeros(&parameters);
    gradients.values_mut().copy_from_slice(&[1.0, 1.7e308]);
    let before = gradients.clone();
    let mut arena = Arena::default();
    let mut pass = |factor: f64, gradients: &mut Gradients| {
        let mut tape = Tape::new(&parameters, &mut arena, Options::default());
        let (a, b) = (tape.parameter(parameters.id("a").unwrap()), tape.parameter(parameters.id("b").unwrap()));
        let b = tape.scale(b, factor);
        let sum = tape.add(a, b);
        tape.backward(sum, 1.0, gradients)
    };
    assert_eq!(pass(1.7e308, &mut gradients), Err(Overflow { parameter: "b".to_owned() }));
    assert_eq!(gradients, before);
    assert_eq!(pass(1.0, &mut gradients), Ok(()));
    assert_eq!(gradients.values(), [2.0, 1.7e308]);
}

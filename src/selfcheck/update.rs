//! The nine-target update and the late overflow.

use std::convert::Infallible;

use crate::autograd::gradients::Gradients;
use crate::autograd::parameters::Parameters;
use crate::decoder::config::Config;
use crate::decoder::initial::GOLDEN_SEED;
use crate::decoder::microbatch::Microbatch;
use crate::decoder::model::Decoder;
use crate::decoder::nine_targets;
use crate::decoder::outcome::{Declared, Failed, Outcome};
use crate::decoder::pass::{self, Arithmetic};
use crate::decoder::update::{MeanLoss, Recipe, Trainer};
use crate::numeric::float::Precision;
use crate::optimizer::loss_scale::{Dynamic, LossScale};
use crate::optimizer::schedule::Schedule;
use crate::optimizer::{AdamW, Optimizer, adamw};
use crate::selfcheck::Answers;
use crate::selfcheck::fan_out::differing;

/// The default decoder with the golden weights.
pub(super) fn decoder() -> (Decoder, Parameters) {
    let decoder = Decoder::new(Config::default()).expect("bug: the default decoder is invalid");
    let parameters = decoder.initial_parameters(GOLDEN_SEED);
    (decoder, parameters)
}

/// S = 128, at most 256, clipped at norm 1, on a schedule whose rates differ from step to step.
pub(super) fn trainer(parameters: Parameters, growth_interval: u64) -> Trainer {
    let dynamic = Dynamic { initial: 128.0, growth_interval, maximum: Some(256.0), ..Dynamic::default() };
    let recipe = Recipe {
        optimizer: Optimizer::AdamW(AdamW::new(adamw::Settings::default(), parameters.values().len())),
        loss_scale: LossScale::dynamic(dynamic).expect("bug: the example's scale is invalid"),
        schedule: Schedule::Linear { peak: 0.01, warmup_steps: 0, total_steps: 100 },
        max_norm: Some(1.0),
        arithmetic: Arithmetic::default(),
    };
    Trainer::new(parameters, recipe)
}

pub(super) fn ask(answers: &mut Answers) {
    let (decoder, parameters) = decoder();
    let sizes = (parameters.tensors().len(), parameters.values().len());
    answers.equal("named tensors and scalars of the default decoder", (29, 1572), sizes);
    nine_target_update(&decoder, &parameters, answers);
    partitions(&decoder, &parameters, answers);
    late_overflow(&decoder, &parameters, answers);
}

fn nine_target_update(decoder: &Decoder, parameters: &Parameters, answers: &mut Answers) {
    let microbatches = nine_targets::microbatches(2);
    let grids: Vec<_> = microbatches.iter().map(|microbatch| (microbatch.grid(), microbatch.valid_targets())).collect();
    answers.equal("grids and targets with at most two rows", vec![([2, 4], 6), ([1, 3], 3)], grids);
    let mut trainer = trainer(parameters.clone(), 1);
    let outcome = trainer.update(decoder, &microbatches);
    let applied = match outcome {
        Ok(Outcome::Applied(applied)) => applied,
        other => return answers.same("the update is", "applied", format!("{other:?}")),
    };
    answers.equal("valid targets of the window", 9, applied.valid_targets);
    answers.equal("seeds S·n/N with S = 128", vec![85.333_333_333_333_33, 42.666_666_666_666_664], applied.seeds);
    answers.within("global norm after unscaling", 1.066_453_484_620_928, 1e-15, applied.norm);
    answers.within("clip coefficient at max_norm 1", 1.0 / 1.066_454_484_620_928, 1e-15, applied.clip_coefficient);
    answers.equal("loss scale before and after", (128.0, 256.0), (applied.scale.before, applied.scale.after));
    let second = trainer.update(decoder, &microbatches);
    let after =
        matches!(second, Ok(Outcome::Applied(_))).then(|| trainer.recipe().loss_scale.value()).unwrap_or(f64::NAN);
    answers.equal("loss scale after one more, at its maximum", 256.0, after);
}

/// Gradient of the mean and weights after one update, with rows limited.
pub(super) fn outcome_of(
    decoder: &Decoder,
    parameters: &Parameters,
    microbatches: &[Microbatch],
) -> (Vec<f64>, Vec<f64>) {
    let (mut gradients, mut arena) = (Gradients::zeros(parameters), Default::default());
    for microbatch in microbatches {
        let arithmetic = Arithmetic::default();
        let _ = pass::backward(decoder, parameters, microbatch, 1.0 / 9.0, arithmetic, &mut gradients, &mut arena);
    }
    let mut trainer = trainer(parameters.clone(), 1);
    let _ = trainer.update(decoder, microbatches);
    (gradients.values().to_vec(), trainer.parameters().values().to_vec())
}

fn partitions(decoder: &Decoder, parameters: &Parameters, answers: &mut Answers) {
    let full = outcome_of(decoder, parameters, &[nine_targets::full_batch()]);
    answers.equal("weights that the full batch's update left as they were", 0, unmoved(parameters, &full.1));
    for row_limit in 1..=3 {
        let split = outcome_of(decoder, parameters, &nine_targets::microbatches(row_limit));
        let far =
            |a: &[f64], b: &[f64]| a.iter().zip(b).filter(|(a, b)| (*a - *b).abs() > 1e-11 + 1e-10 * b.abs()).count();
        let question =
            format!("gradients and weights beyond 1e-11 + 1e-10·|r| of the full batch's, row limit {row_limit}");
        answers.equal(question, (0, 0), (far(&split.0, &full.0), far(&split.1, &full.1)));
    }
}

fn unmoved(parameters: &Parameters, after: &[f64]) -> usize {
    parameters.values().iter().zip(after).filter(|(before, after)| before == after).count()
}

/// Parameters, moments and counters of a trainer.
pub(super) fn state(trainer: &Trainer) -> Vec<f64> {
    let mut state = trainer.parameters().values().to_vec();
    if let Optimizer::AdamW(adamw) = &trainer.recipe().optimizer {
        let adamw = adamw.state();
        state.extend(adamw.first.iter().chain(&adamw.second));
        state.extend([adamw.beta1_power, adamw.beta2_power, adamw.steps as f64]);
    }
    state.extend([trainer.applied_updates() as f64, trainer.next_learning_rate()]);
    state
}

/// An update in which the second microbatch's loss gets a branch of its logits times 0 times the greatest number: nothing
/// in the forward, infinity in the backward pass.
pub(super) fn poisoned(
    trainer: &mut Trainer,
    decoder: &Decoder,
    microbatches: &[Microbatch],
) -> Result<Outcome, Failed<Infallible>> {
    let declared: Vec<Declared> = microbatches.iter().map(Declared::from).collect();
    trainer.update_with(&declared, |tape, index| {
        let microbatch = &microbatches[index];
        let hidden = decoder.hidden(tape, microbatch);
        let logits = decoder.logits(tape, hidden);
        let sum = tape.cross_entropy(logits, microbatch.targets().into(), Precision::Float64);
        let valid_targets = microbatch.valid_targets();
        let mut mean = tape.divide(sum, valid_targets as f64);
        if index == 1 {
            let nothing = tape.scale(logits, 0.0);
            let nothing = tape.sum(nothing);
            let poison = tape.scale(nothing, f64::MAX);
            mean = tape.add(mean, poison);
        }
        Ok(MeanLoss { mean, valid_targets })
    })
}

/// A poisoned update after a committed warm-up, and its retry.
fn late_overflow(decoder: &Decoder, parameters: &Parameters, answers: &mut Answers) {
    let microbatches = nine_targets::microbatches(2);
    let mut trainer = trainer(parameters.clone(), 2000);
    let mut healthy = self::trainer(parameters.clone(), 2000);
    let _ = (trainer.update(decoder, &microbatches), healthy.update(decoder, &microbatches));
    let before = state(&trainer);
    let outcome = poisoned(&mut trainer, decoder, &microbatches);
    let skipped = match outcome {
        Ok(Outcome::Skipped(skipped)) => skipped,
        other => return answers.same("a late overflow is", "skipped", format!("{other:?}")),
    };
    answers.equal("microbatches completed before the overflow", 1, skipped.microbatches_completed);
    answers.equal("loss scale before and after it", (128.0, 64.0), (skipped.scale.before, skipped.scale.after));
    let changed = differing(&before, &state(&trainer));
    answers.equal("weights, moments, powers, steps and rates that it changed", 0, changed);
    answers.equal("gradients are clear after it", true, trainer.gradients().is_clear());
    let _ = (trainer.update(decoder, &microbatches), healthy.update(decoder, &microbatches));
    let apart = differing(&state(&trainer), &state(&healthy));
    answers.equal("numbers in which the retry differs from a healthy second update", 0, apart);
}

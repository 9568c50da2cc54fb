//! The nine-target example with its numbers: what `receipt replay` shows where no run is named.
//!
//! "hi", "loss" and "sum" have 2, 4 and 3 targets; microbatches hold so many rows at most. The same three things are asked as
//! questions in `receipt selfcheck`; here are the numbers themselves.
use crate::autograd::arena::Arena;
use crate::autograd::gradients::Gradients;
use crate::autograd::recompute::Plan;
use crate::autograd::tape::Tape;
use crate::canonical::{Count, Finite};
use crate::decoder::outcome::Outcome;
use crate::decoder::pass::{self, Options};
use crate::decoder::{Blocks, Dropout, nine_targets};
use crate::selfcheck::fan_out::differing;
use crate::selfcheck::update::{decoder, outcome_of, poisoned, state, trainer};
use serde::Serialize;

/// Probability and seed of the example's dropout.
const DROPOUT: (f64, u64) = (0.5, 39);

/// The example's three parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Example {
    /// One update over microbatches, beside the full batch.
    pub accumulation: Accumulation,
    /// One pass over the full batch that runs every block again, beside one that records everything.
    pub recomputation: Recomputation,
    /// An update whose last microbatch overflows, after a committed one.
    pub late_overflow: LateOverflow,
    /// Whether all three came out as they must.
    pub agrees: bool,
}

/// One update over microbatches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Accumulation {
    /// `[rows, length of the longest]` of each microbatch.
    pub grids: Vec<[Count; 2]>,
    /// n of each.
    pub valid_targets: Vec<Count>,
    /// S·n/N of each.
    pub seeds: Vec<Finite>,
    /// The mean loss of each, in nats per target.
    pub mean_losses: Vec<Finite>,
    /// Of the unscaled gradient.
    pub gradient_norm: Finite,
    /// What it was multiplied by, at max_norm 1.
    pub clip_coefficient: Finite,
    /// S before and after.
    pub loss_scale: [Finite; 2],
    /// The largest difference of a gradient from the full batch's.
    pub gradient_difference: Finite,
    /// The largest difference of a weight from the full batch's, after the update.
    pub weight_difference: Finite,
}

/// One pass with recompute and dropout.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recomputation {
    /// Payload bytes retained when the loss has been computed, with every block run again.
    pub retained_bytes: Count,
    /// The same where everything is recorded.
    pub retained_bytes_recorded: Count,
    /// Block runs beyond the forward's.
    pub extra_block_runs: Count,
    /// Words that dropout had drawn after the forward and after the backward pass.
    pub counter: [Count; 2],
    /// Gradients whose bits differ.
    pub gradients_differing: Count,
}

/// An update that was skipped.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LateOverflow {
    /// Microbatches before the one that overflowed.
    pub microbatches_completed: Count,
    /// S before and after.
    pub loss_scale: [Finite; 2],
    /// Weights, moments, powers, steps and rates that it changed.
    pub changed: Count,
    /// Numbers in which its retry differs from an update that never overflowed.
    pub retry_differing: Count,
}

impl Example {
    /// With at most so many rows a microbatch.
    ///
    /// # Panics
    /// For no row at all, which is a bug of the caller.
    #[must_use]
    pub fn run(rows: usize) -> Self {
        let (accumulation, recomputation, late_overflow) = (accumulation(rows), recomputation(), late_overflow());
        let close = accumulation.gradient_difference.get() <= 1e-11 && accumulation.weight_difference.get() <= 1e-11;
        let nothing = [recomputation.gradients_differing, late_overflow.changed, late_overflow.retry_differing];
        let agrees = close && nothing.iter().all(|differing| *differing == Count::ZERO);
        Example { accumulation, recomputation, late_overflow, agrees }
    }
}

fn accumulation(rows: usize) -> Accumulation {
    let (decoder, parameters) = decoder();
    let microbatches = nine_targets::microbatches(rows);
    let Ok(Outcome::Applied(applied)) = trainer(parameters.clone(), 1).update(&decoder, &microbatches) else {
        panic!("bug: the example's update was not applied");
    };
    let (gradients, weights) = outcome_of(&decoder, &parameters, &microbatches);
    let full = outcome_of(&decoder, &parameters, &[nine_targets::full_batch()]);
    Accumulation {
        grids: microbatches.iter().map(|microbatch| microbatch.grid().map(|size| count(size as u64))).collect(),
        valid_targets: microbatches.iter().map(|microbatch| count(microbatch.valid_targets())).collect(),
        seeds: applied.seeds.iter().copied().map(finite).collect(),
        mean_losses: applied.mean_losses.iter().copied().map(finite).collect(),
        gradient_norm: finite(applied.norm),
        clip_coefficient: finite(applied.clip_coefficient),
        loss_scale: [applied.scale.before, applied.scale.after].map(finite),
        gradient_difference: finite(farthest(&gradients, &full.0)),
        weight_difference: finite(farthest(&weights, &full.1)),
    }
}

fn recomputation() -> Recomputation {
    let (decoder, parameters) = decoder();
    let full = nine_targets::full_batch();
    let run = |recompute| {
        let mut dropout = words();
        let (mut gradients, mut arena) = (Gradients::zeros(&parameters), Arena::default());
        let blocks = Blocks { recompute, dropout: Some(&mut dropout) };
        let options = Options { blocks, ..Options::default() };
        let passed = pass::backward_with(&decoder, &parameters, &full, 1.0 / 9.0, options, &mut gradients, &mut arena);
        (passed.expect("bug: the example overflows"), gradients, dropout.counter())
    };
    let (recorded, with_all, _) = run(Plan::Record);
    let (again, gradients, counter) = run(Plan::EACH);
    let (mut dropout, mut arena) = (words(), Arena::default());
    let mut tape = Tape::new(&parameters, &mut arena, Default::default());
    decoder.hidden_with(&mut tape, &full, Blocks { recompute: Plan::EACH, dropout: Some(&mut dropout) });
    let forward = dropout.counter();
    Recomputation {
        retained_bytes: count(again.retained.bytes() as u64),
        retained_bytes_recorded: count(recorded.retained.bytes() as u64),
        extra_block_runs: count(again.reruns.total()),
        counter: [count(forward), count(counter)],
        gradients_differing: count(differing(gradients.values(), with_all.values()) as u64),
    }
}

fn words() -> Dropout {
    Dropout::new(DROPOUT.0, DROPOUT.1).expect("bug: the example's dropout")
}

fn late_overflow() -> LateOverflow {
    let (decoder, parameters) = decoder();
    let microbatches = nine_targets::microbatches(2);
    let (mut trainer, mut healthy) = (trainer(parameters.clone(), 2000), trainer(parameters, 2000));
    for trainer in [&mut trainer, &mut healthy] {
        trainer.update(&decoder, &microbatches).expect("bug: the warm-up was refused");
    }
    let before = state(&trainer);
    let Ok(Outcome::Skipped(skipped)) = poisoned(&mut trainer, &decoder, &microbatches) else {
        panic!("bug: a poisoned update was not skipped");
    };
    let changed = differing(&before, &state(&trainer));
    for trainer in [&mut trainer, &mut healthy] {
        trainer.update(&decoder, &microbatches).expect("bug: the retry was refused");
    }
    LateOverflow {
        microbatches_completed: count(skipped.microbatches_completed as u64),
        loss_scale: [skipped.scale.before, skipped.scale.after].map(finite),
        changed: count(changed as u64),
        retry_differing: count(differing(&state(&trainer), &state(&healthy)) as u64),
    }
}

fn farthest(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |farthest, (a, b)| farthest.max((a - b).abs()))
}

fn count(value: u64) -> Count {
    Count::new(value).expect("bug: an example of more than 2^53")
}

fn finite(value: f64) -> Finite {
    Finite::new(value).expect("bug: an example's number is not finite")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_numbers() {
        let Example { accumulation, recomputation, late_overflow, agrees } = Example::run(2);
        assert!(agrees);
        assert_eq!(accumulation.seeds.iter().map(|seed| seed.get()).collect::<Vec<_>>(), [256.0 / 3.0, 128.0 / 3.0]);
        assert!((accumulation.gradient_norm.get() - 1.066_453_484_620_928).abs() < 1e-15);
        assert_eq!(accumulation.loss_scale.map(Finite::get), [128.0, 256.0]);
        assert!(accumulation.clip_coefficient.get() < 1.0);
        assert_eq!(recomputation.counter.map(Count::get), [288, 288]);
        assert_eq!(recomputation.extra_block_runs.get(), 3);
        assert!(recomputation.retained_bytes < recomputation.retained_bytes_recorded);
        assert_eq!(late_overflow.loss_scale.map(Finite::get), [128.0, 64.0]);
        assert_eq!(late_overflow.microbatches_completed.get(), 1);
    }

    #[test]
    fn every_partition_agrees() {
        for (rows, microbatches) in [(1, 3), (3, 1)] {
            let example = Example::run(rows);
            assert!(example.agrees);
            assert_eq!(example.accumulation.valid_targets.len(), microbatches);
        }
    }
}

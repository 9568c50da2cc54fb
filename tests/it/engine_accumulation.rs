//! Accumulation is exact: whatever the partition into microbatches, gradients and weights are those of the full batch.
#![expect(clippy::print_stdout, reason = "measured distances are shown with --nocapture")]

use proptest::prelude::*;
use receipt::autograd::{Gradients, Parameters};
use receipt::decoder::outcome::Outcome;
use receipt::decoder::pass::Arithmetic;
use receipt::decoder::update::Recipe;
use receipt::decoder::{Decoder, Microbatch, Trainer, nine_targets};
use receipt::optimizer::loss_scale::Dynamic;
use receipt::optimizer::{AdamW, LossScale, Optimizer, Schedule, adamw};

use crate::engine_fixtures::{accumulate, default_decoder, golden, tensors};

/// 1e-11 + 1e-10·|reference| in every element; gives the largest absolute difference.
fn agree(what: &str, got: &[f64], reference: &[f64]) -> f64 {
    assert_eq!(got.len(), reference.len());
    let mut largest = 0.0_f64;
    for (element, (got, reference)) in got.iter().zip(reference).enumerate() {
        let error = (got - reference).abs();
        assert!(error <= 1e-11 + 1e-10 * reference.abs(), "{what}, element {element}: {got}, {reference}");
        largest = largest.max(error);
    }
    largest
}

fn recipe(parameters: &Parameters) -> Recipe {
    let scale = Dynamic { initial: 128.0, growth_interval: 1, maximum: Some(256.0), ..Dynamic::default() };
    Recipe {
        optimizer: Optimizer::AdamW(AdamW::new(adamw::Settings::default(), parameters.values().len())),
        loss_scale: LossScale::dynamic(scale).unwrap(),
        schedule: Schedule::Constant { peak: 0.01 },
        max_norm: Some(1.0),
        arithmetic: Arithmetic::default(),
    }
}

/// The gradient of the mean over all targets, and the weights after one update with S = 128 and max_norm 1.
fn update(decoder: &Decoder, parameters: &Parameters, microbatches: &[Microbatch]) -> (Gradients, Parameters, Outcome) {
    let total: u64 = microbatches.iter().map(Microbatch::valid_targets).sum();
    let (_, gradients) = accumulate(decoder, parameters, microbatches, 1.0 / total as f64, Arithmetic::default());
    let mut trainer = Trainer::new(parameters.clone(), recipe(parameters));
    let outcome = trainer.update(decoder, microbatches).unwrap();
    (gradients, trainer.parameters().clone(), outcome)
}

#[test]
fn nine_targets_at_row_limits_1_2_and_3() {
    let (decoder, parameters) = default_decoder();
    let (full_gradients, full_weights, _) = update(&decoder, &parameters, &[nine_targets::full_batch()]);
    for row_limit in [1, 2, 3] {
        let microbatches = nine_targets::microbatches(row_limit);
        let (gradients, weights, outcome) = update(&decoder, &parameters, &microbatches);
        let largest_gradient = agree("gradient", gradients.values(), full_gradients.values());
        let largest_weight = agree("weight", weights.values(), full_weights.values());
        println!("row limit {row_limit}: gradients differ by {largest_gradient:.3e}, weights by {largest_weight:.3e}");
        let Outcome::Applied(applied) = outcome else { panic!("{outcome:?}") };
        assert_eq!(applied.valid_targets, 9);
        assert!(applied.clip_coefficient < 1.0, "a norm of {} clips at 1", applied.norm);
        assert!((applied.norm - 1.066453484620928).abs() <= 1e-15, "{}", applied.norm);
        assert_eq!((applied.scale.before, applied.scale.after), (128.0, 256.0));
    }
}

#[test]
fn default_grids_counts_and_seeds() {
    let (decoder, parameters) = default_decoder();
    let microbatches = nine_targets::microbatches(2);
    assert_eq!(microbatches.iter().map(Microbatch::grid).collect::<Vec<_>>(), [[2, 4], [1, 3]]);
    assert_eq!(microbatches.iter().map(Microbatch::valid_targets).collect::<Vec<_>>(), [6, 3]);
    let (_, _, outcome) = update(&decoder, &parameters, &microbatches);
    let Outcome::Applied(applied) = outcome else { panic!("{outcome:?}") };
    assert_eq!(applied.seeds, [85.33333333333333, 42.666666666666664]);
    let means = [5.803774397636352, 5.435352581180953];
    for (got, want) in applied.mean_losses.iter().zip(means) {
        assert!((got - want).abs() <= 2e-15, "{got}, PyTorch {want}");
    }
}

/// The wrong recipe is as far away as the golden file says: the agreement above is not for want of sensitivity.
#[test]
fn the_mean_of_means_is_far_away() {
    let (decoder, parameters) = default_decoder();
    let wrong = tensors(&golden("model")["grads"]["mean_of_means_WRONG"], &parameters);
    let mut mean_of_means = Gradients::zeros(&parameters);
    for microbatch in nine_targets::microbatches(2) {
        let weight = 1.0 / (2 * microbatch.valid_targets()) as f64;
        let (_, gradients) = accumulate(&decoder, &parameters, &[microbatch], weight, Arithmetic::default());
        mean_of_means.add_scaled(1.0, &gradients);
    }
    let _ = agree("mean of means", mean_of_means.values(), &wrong);
    let (full, ..) = update(&decoder, &parameters, &[nine_targets::full_batch()]);
    let far = mean_of_means.values().iter().zip(full.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(far > 1e-2, "{far}");
}

/// S is a power of two: before unscaling every gradient is exactly 128 times what it is without a scale.
#[test]
fn a_power_of_two_scale_changes_no_bit() {
    let (decoder, parameters) = default_decoder();
    let microbatches = nine_targets::microbatches(2);
    let (_, plain) = accumulate(&decoder, &parameters, &microbatches, 1.0 / 9.0, Arithmetic::default());
    let (_, mut scaled) = accumulate(&decoder, &parameters, &microbatches, 128.0 / 9.0, Arithmetic::default());
    scaled.divide(128.0);
    assert_eq!(scaled, plain);
}

/// Rows of random bytes, cut at random places.
fn rows_and_cuts() -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<bool>, u64)> {
    let rows = prop::collection::vec(prop::collection::vec(any::<u8>(), 1..=8), 1..=7);
    rows.prop_flat_map(|rows| {
        let cuts = prop::collection::vec(any::<bool>(), rows.len());
        (Just(rows), cuts, any::<u64>())
    })
}

/// The rows, cut after each for which `cuts` says so.
fn partition(rows: &[Vec<u8>], cuts: &[bool]) -> Vec<Microbatch> {
    let mut parts = vec![vec![]];
    for (row, cut) in rows.iter().zip(cuts) {
        parts.last_mut().unwrap().push(row.clone());
        if *cut {
            parts.push(vec![]);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.iter().map(|part| Microbatch::of_texts(part)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_partition_of_any_rows((rows, cuts, seed) in rows_and_cuts()) {
        let (decoder, _) = default_decoder();
        let parameters = decoder.initial_parameters(seed);
        let (gradients, weights, _) = update(&decoder, &parameters, &[Microbatch::of_texts(&rows)]);
        let (parts, parts_weights, outcome) = update(&decoder, &parameters, &partition(&rows, &cuts));
        let _ = agree("gradient", parts.values(), gradients.values());
        let _ = agree("weight", parts_weights.values(), weights.values());
        prop_assert!(matches!(outcome, Outcome::Applied(_)));
    }
}

//! Emulated precisions: every number on a tape is one of the format's, the weights stay binary64.
#![expect(clippy::print_stdout, reason = "measured distances are shown with --nocapture")]

use receipt::autograd::{Arena, Gradients, Options, Parameters, Shape, Tape, Tensor, Var};
use receipt::decoder::outcome::Outcome;
use receipt::decoder::pass::{self, Arithmetic};
use receipt::decoder::update::Recipe;
use receipt::decoder::{Trainer, nine_targets};
use receipt::numeric::float::Precision;
use receipt::optimizer::loss_scale::Dynamic;
use receipt::optimizer::{AdamW, LossScale, Optimizer, Schedule, adamw};

use crate::engine_fixtures::{accumulate, default_decoder};

const NARROW: [Precision; 3] = [Precision::Float32, Precision::Bfloat16, Precision::Float16];

fn representable(precision: Precision, values: &[f64]) -> bool {
    values.iter().all(|x| precision.round(*x).to_bits() == x.to_bits())
}

#[test]
fn every_value_and_cotangent_is_rounded() {
    let (decoder, parameters) = default_decoder();
    let before = parameters.clone();
    for precision in NARROW {
        let mut arena = Arena::default();
        let mut tape = Tape::new(&parameters, &mut arena, Options { precision, threads: 1 });
        let trace = decoder.trace(&mut tape, &nine_targets::full_batch());
        let logits = decoder.logits(&mut tape, trace.hidden);
        let mut vars: Vec<Var> = parameters.ids().map(|id| tape.parameter(id)).collect();
        vars.extend(trace.blocks.iter().flat_map(|(attended, out)| [*attended, *out]));
        vars.extend([trace.embedded, trace.hidden, logits]);
        for var in &vars {
            assert!(representable(precision, tape.value(*var)), "{precision:?}: value of node {}", var.index());
        }
        let ct: Vec<f64> = (0..tape.view(logits).shape.len()).map(|i| 0.1 + i as f64 * 1e-4).collect();
        let cotangents = tape.pullback(logits, &ct);
        for var in &vars {
            let ct = cotangents.of(*var).unwrap();
            assert!(representable(precision, ct), "{precision:?}: cotangent of node {}", var.index());
        }
    }
    assert_eq!(parameters, before, "the master weights are not rounded");
    assert!(!representable(Precision::Float32, parameters.values()));
}

#[test]
fn losses_and_gradients_err_as_much_as_the_format_does() {
    let (decoder, parameters) = default_decoder();
    let microbatches = nine_targets::microbatches(2);
    let run = |precision| {
        let arithmetic = Arithmetic::in_precision(precision);
        accumulate(&decoder, &parameters, &microbatches, 1.0 / 9.0, arithmetic)
    };
    let (loss, gradients) = run(Precision::Float64);
    for precision in NARROW {
        let (narrow_loss, narrow) = run(precision);
        let unit = precision.unit_roundoff();
        let error = ((narrow_loss - loss) / loss).abs();
        assert!(error < 2.0 * unit && narrow_loss != loss, "{precision:?}: loss off by {error:e}");
        let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
        let difference = narrow.values().iter().zip(gradients.values()).map(|(a, b)| a - b);
        let error = norm(&mut difference.into_iter()) / norm(&mut gradients.values().iter().copied());
        println!("{precision:?}: gradient off by {error:.2e}, {:.1} units of roundoff", error / unit);
        assert!(error > 0.5 * unit && error < 32.0 * unit, "{precision:?}: gradient off by {error:e}");
    }
}

#[test]
fn float16_overflows_above_65504() {
    let parameters = Parameters::new([("w".to_owned(), Tensor::new(Shape::SCALAR, vec![40000.0]))]);
    let mut arena = Arena::default();
    let mut sum = |precision| {
        let mut tape = Tape::new(&parameters, &mut arena, Options { precision, threads: 1 });
        let w = tape.parameter(parameters.id("w").unwrap());
        let sum = tape.add(w, w);
        tape.scalar(sum)
    };
    assert_eq!(sum(Precision::Float16), f64::INFINITY);
    assert_eq!(sum(Precision::Bfloat16), 79872.0);
    assert_eq!(sum(Precision::Float32), 80000.0);
}

/// The loss is computed in its own precision: a summed loss beyond 65504 does not overflow under binary16.
#[test]
fn the_loss_has_its_own_precision() {
    let (decoder, parameters) = default_decoder();
    let mut arena = Arena::default();
    let full = nine_targets::full_batch();
    let mut loss = |loss_precision| {
        let arithmetic = Arithmetic { loss_precision, ..Arithmetic::in_precision(Precision::Float16) };
        pass::loss_sum(&decoder, &parameters, &full, arithmetic, &mut arena)
    };
    let (in_32, in_16) = (loss(Precision::Float32), loss(Precision::Float16));
    assert_eq!(in_16, Precision::Float16.round(in_32));
    assert_ne!(in_16, in_32);
}

/// As a real run under binary16 does: too large a scale overflows, is halved until it no longer does, and then the
/// update goes through.
#[test]
fn a_scale_too_large_for_float16_is_found() {
    let (decoder, parameters) = default_decoder();
    let scale = Dynamic { initial: 8_388_608.0, ..Dynamic::default() };
    let recipe = Recipe {
        optimizer: Optimizer::AdamW(AdamW::new(adamw::Settings::default(), parameters.values().len())),
        loss_scale: LossScale::dynamic(scale).unwrap(),
        schedule: Schedule::Constant { peak: 0.01 },
        max_norm: Some(1.0),
        arithmetic: Arithmetic::in_precision(Precision::Float16),
    };
    let mut trainer = Trainer::new(parameters.clone(), recipe);
    let microbatches = nine_targets::microbatches(2);
    let mut skipped = 0;
    while let Outcome::Skipped(_) = trainer.update(&decoder, &microbatches).unwrap() {
        assert_eq!(trainer.parameters(), &parameters);
        skipped += 1;
        assert!(skipped < 20, "the scale never became small enough");
    }
    assert!(skipped > 0, "the first scale was small enough");
    assert_eq!(trainer.recipe().loss_scale.value(), 8_388_608.0 / f64::from(1 << skipped));
    assert_ne!(trainer.parameters(), &parameters);
}

/// Narrow gradients add into binary64 buffers: small ones are not lost beside large ones.
#[test]
fn gradients_accumulate_in_float64() {
    let parameters = Parameters::new([("w".to_owned(), Tensor::new(Shape::SCALAR, vec![1.0]))]);
    let mut gradients = Gradients::zeros(&parameters);
    let mut arena = Arena::default();
    for seed in [1024.0, 0.25] {
        let options = Options { precision: Precision::Float16, threads: 1 };
        let mut tape = Tape::new(&parameters, &mut arena, options);
        let w = tape.parameter(parameters.id("w").unwrap());
        let loss = tape.scale(w, 1.0);
        tape.backward(loss, seed, &mut gradients).unwrap();
    }
    assert_eq!(gradients.values(), [1024.25]);
}

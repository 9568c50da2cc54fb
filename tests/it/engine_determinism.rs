//! Bits: frozen, and independent of threads, of vector units, and of what else is in the batch.
//!
//! The unit tests of `autograd::kernels` and `numeric::exponential` run every vector unit of the machine against the
//! portable code; the digests below are the same on every machine, or the test fails there.

use std::sync::Arc;

use receipt::autograd::rows::Rows;
use receipt::autograd::{Arena, Options, Tape};
use receipt::decoder::outcome::Outcome;
use receipt::decoder::pass::Arithmetic;
use receipt::decoder::update::Recipe;
use receipt::decoder::{Config, Decoder, Microbatch, Trainer, initial, nine_targets};
use receipt::numeric::random::SplitMix64;
use receipt::optimizer::{AdamW, LossScale, Optimizer, Schedule, adamw};
use sha2::{Digest, Sha256};

use crate::engine_fixtures::{accumulate, bits, default_decoder};

/// SHA-256 of the numbers' bytes, least significant first.
fn digest(values: &[f64]) -> String {
    let mut hash = Sha256::new();
    values.iter().for_each(|x| hash.update(x.to_le_bytes()));
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn frozen_gradients_and_weights() {
    let (decoder, parameters) = default_decoder();
    let mut digests = vec![digest(parameters.values())];
    for row_limit in [3, 2, 1] {
        let microbatches = nine_targets::microbatches(row_limit);
        let (_, gradients) = accumulate(&decoder, &parameters, &microbatches, 1.0 / 9.0, Arithmetic::default());
        digests.push(digest(gradients.values()));
        let recipe = Recipe {
            optimizer: Optimizer::AdamW(AdamW::new(adamw::Settings::default(), parameters.values().len())),
            loss_scale: LossScale::fixed(128.0).unwrap(),
            schedule: Schedule::Cosine { peak: 0.01, warmup_steps: 1, total_steps: 9, floor: 0.001 },
            max_norm: Some(1.0),
            arithmetic: Arithmetic::default(),
        };
        let mut trainer = Trainer::new(parameters.clone(), recipe);
        for _ in 0..3 {
            assert!(matches!(trainer.update(&decoder, &microbatches), Ok(Outcome::Applied(_))));
        }
        digests.push(digest(trainer.parameters().values()));
    }
    assert_eq!(digests, FROZEN, "the weights before training, then gradient and weights at row limits 3, 2 and 1");
}

/// A change here changes every receipt with a replay: raise the version.
const FROZEN: [&str; 7] = [
    "1ddd2cc176ece096fe8cd73c19e07083488da364ccabb06aeca922ee65c1a1be",
    "17cf1c06ddd056a8425ee7fe07fefd24756f7f125acad6726f8a15f96ef0b946",
    "765d38e8e2742289e0bdd1b83a9cf11f58f3816020bd94ef1a7d5d04afab9f8c",
    "00359d079ae7397bd47de0f074a5eb0c9b13704e6b99151936d3b8a0c63233aa",
    "cee373464fe8b3db22057e2e5a34dd8915211ede6edec80da5d4f416be59f66e",
    "d5450ce223261649bc65a79185307640c284f827dd9ba253ea9d25a4f127adf3",
    "5248a9a3085575ae6899663d580f2f6b4a589bf22417b16f91b53edca68e4093",
];

/// A decoder wide enough that its products are shared among threads, and rows of all lengths for it.
fn wide() -> (Decoder, Microbatch) {
    let config = Config { width: 64, heads: 2, blocks: 1, feed_forward: 96, context: 64, ..Config::default() };
    let mut stream = SplitMix64::new(9);
    let texts: Vec<Vec<u8>> =
        [64, 64, 33, 64, 1].iter().map(|len| (0..*len).map(|_| stream.word() as u8).collect()).collect();
    (Decoder::new(config).unwrap(), Microbatch::of_texts(&texts))
}

/// Rows longer than a block of attention and sums too long to be mended.
#[test]
fn frozen_gradient_of_a_wide_decoder() {
    let (decoder, microbatch) = wide();
    let parameters = decoder.initial_parameters(initial::GOLDEN_SEED);
    let (_, gradients) = accumulate(&decoder, &parameters, &[microbatch], 1.0 / 226.0, Arithmetic::default());
    assert_eq!(digest(gradients.values()), FROZEN_WIDE);
}

const FROZEN_WIDE: &str = "79d26ca6add8cf3ba546d5658086aa7472461fc586d21e51d26ed92f5801b397";

#[test]
fn threads_change_no_bit() {
    let (decoder, microbatch) = wide();
    let parameters = decoder.initial_parameters(initial::GOLDEN_SEED);
    let run = |threads| {
        let arithmetic = Arithmetic::default().on_threads(threads);
        let microbatch = std::slice::from_ref(&microbatch);
        let (loss, gradients) = accumulate(&decoder, &parameters, microbatch, 1.0 / 226.0, arithmetic);
        (loss.to_bits(), bits(gradients.values()))
    };
    let one = run(1);
    for threads in [2, 3] {
        assert_eq!(run(threads), one, "{threads} threads");
    }
}

/// What the head reads at every position of a microbatch.
fn hidden(decoder: &Decoder, microbatch: &Microbatch) -> Vec<u64> {
    let parameters = decoder.initial_parameters(initial::GOLDEN_SEED);
    let mut arena = Arena::default();
    let mut tape = Tape::new(&parameters, &mut arena, Options::default());
    let hidden = decoder.hidden(&mut tape, microbatch);
    bits(tape.value(hidden))
}

/// A row alone, in a padded grid and packed between others has the same bits at every position.
#[test]
fn a_row_does_not_feel_its_neighbours_or_its_padding() {
    let (decoder, grid) = wide();
    let width = decoder.config().width;
    let lengths = [64, 64, 33, 64, 1];
    let together = hidden(&decoder, &grid);
    let mut alone = vec![];
    let (mut ids, mut targets) = (vec![], vec![]);
    for (row, length) in lengths.into_iter().enumerate() {
        let positions = row * 64..row * 64 + length;
        let (own_ids, own_targets) = (grid.ids()[positions.clone()].to_vec(), grid.targets()[positions].to_vec());
        ids.extend_from_slice(&own_ids);
        targets.extend_from_slice(&own_targets);
        let one = Microbatch::new(own_ids, own_targets, Rows::grid(1, length)).unwrap();
        let bits = hidden(&decoder, &one);
        assert_eq!(bits, together[row * 64 * width..][..length * width], "row {row}");
        alone.extend(bits);
    }
    let packed = Microbatch::new(ids, targets, Rows::packed(&lengths)).unwrap();
    assert_eq!(hidden(&decoder, &packed), alone);
}

/// An arena that held other, larger tapes gives the bits of a new one: nothing stale is read.
#[test]
fn a_used_arena_leaves_no_trace() {
    let (wide_decoder, wide_microbatch) = wide();
    let wide_parameters = wide_decoder.initial_parameters(3);
    let (decoder, parameters) = default_decoder();
    let mut arena = Arena::default();
    let run = |arena: &mut Arena| {
        let mut gradients = receipt::autograd::Gradients::zeros(&parameters);
        let full = nine_targets::full_batch();
        let arithmetic = Arithmetic::default();
        receipt::decoder::pass::backward(&decoder, &parameters, &full, 1.0, arithmetic, &mut gradients, arena).unwrap();
        bits(gradients.values())
    };
    let fresh = run(&mut arena);
    let mut other = receipt::autograd::Gradients::zeros(&wide_parameters);
    let arithmetic = Arithmetic::default();
    receipt::decoder::pass::backward(
        &wide_decoder,
        &wide_parameters,
        &wide_microbatch,
        f64::MAX,
        arithmetic,
        &mut other,
        &mut arena,
    )
    .unwrap_err();
    assert_eq!(run(&mut arena), fresh);
}

/// Infinite and NaN values after a position do not reach it.
#[test]
fn attention_stops_at_the_diagonal() {
    let parameters = receipt::autograd::Parameters::new([]);
    let mut arena = Arena::default();
    let mut tape = Tape::new(&parameters, &mut arena, Options::default());
    let shape = receipt::autograd::Shape::matrix(3, 2);
    let q = tape.input(shape, &[1.0, 2.0, 3.0, 4.0, f64::NAN, 0.0]);
    let k = tape.input(shape, &[1.0, 2.0, 3.0, 4.0, f64::INFINITY, 0.0]);
    let v = tape.input(shape, &[1.0, 2.0, 3.0, 4.0, f64::INFINITY, f64::NAN]);
    let rows = Arc::new(Rows::grid(1, 3));
    let out = tape.causal_attention(q, k, v, rows, 1);
    let value = tape.value(out).to_vec();
    assert!(value[..4].iter().all(|x| x.is_finite()), "{value:?}");
    assert!(value[4..].iter().all(|x| x.is_nan()), "{value:?}");
    let ct = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0];
    let cotangents = tape.pullback(out, &ct);
    assert!(cotangents.of(q).unwrap()[..4].iter().all(|x| x.is_finite()));
}

//! Speed of one accumulated update, beside eager PyTorch's in `docs/engine.md`.
//!
//! `cargo bench --bench engine`. Allocations are counted as well: a warm default update makes fewer than 100.

use receipt::autograd::Options;
use receipt::decoder::pass::Arithmetic;
use receipt::decoder::update::Recipe;
use receipt::decoder::{Config, Decoder, Microbatch, Trainer, initial, nine_targets};
use receipt::numeric::float::Precision;
use receipt::numeric::random::SplitMix64;
use receipt::optimizer::{AdamW, LossScale, Optimizer, Schedule, adamw};

#[global_allocator]
static ALLOCATOR: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}

fn trainer(decoder: &Decoder, threads: usize) -> Trainer {
    let parameters = decoder.initial_parameters(initial::GOLDEN_SEED);
    let optimizer = Optimizer::AdamW(AdamW::new(adamw::Settings::default(), parameters.values().len()));
    let recipe = Recipe {
        optimizer,
        loss_scale: LossScale::fixed(128.0).unwrap(),
        schedule: Schedule::Constant { peak: 1e-3 },
        max_norm: Some(1.0),
        arithmetic: Arithmetic {
            options: Options { precision: Precision::Float64, threads },
            loss_precision: Precision::Float64,
        },
    };
    Trainer::new(parameters, recipe)
}

/// Nine targets in two microbatches: forward, backward, clip, AdamW, on a warm trainer.
#[divan::bench]
fn default_update(bencher: divan::Bencher<'_, '_>) {
    let decoder = Decoder::new(Config::default()).unwrap();
    let microbatches = nine_targets::microbatches(2);
    let mut trainer = trainer(&decoder, 1);
    for _ in 0..10 {
        let _ = trainer.update(&decoder, &microbatches).unwrap();
    }
    bencher.bench_local(|| trainer.update(&decoder, &microbatches).unwrap());
}

/// 4 blocks, 4 heads, feed-forward twice the width, 4 rows of 128 targets in `4 / rows` microbatches.
fn wide(width: usize, rows: usize) -> (Decoder, Vec<Microbatch>) {
    let config = Config { width, heads: 4, blocks: 4, feed_forward: 2 * width, context: 128, ..Config::default() };
    let mut stream = SplitMix64::new(7);
    let texts: Vec<Vec<u8>> = (0..4).map(|_| (0..128).map(|_| stream.word() as u8).collect()).collect();
    (Decoder::new(config).unwrap(), texts.chunks(rows).map(Microbatch::of_texts).collect())
}

/// (width, threads, rows in a microbatch): 4 is PyTorch's `full`, 1 its `accum`.
#[divan::bench(sample_count = 15, sample_size = 1, args = [
    (128, 1, 4), (128, 1, 1), (128, 2, 4), (128, 2, 1),
    (256, 1, 4), (256, 1, 1), (256, 2, 4), (256, 2, 1),
])]
fn wide_update(bencher: divan::Bencher<'_, '_>, (width, threads, rows): (usize, usize, usize)) {
    let (decoder, microbatches) = wide(width, rows);
    let mut trainer = trainer(&decoder, threads);
    let _ = trainer.update(&decoder, &microbatches).unwrap();
    bencher.bench_local(|| trainer.update(&decoder, &microbatches).unwrap());
}

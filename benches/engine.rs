//! Speed of one accumulated update, beside eager PyTorch's in `docs/engine.md`.
//!
//! `cargo bench --bench engine`. Allocations are counted as well: a warm default update makes fewer than 100.

use std::hint::black_box;

use divan::counter::ItemsCount;
use receipt::autograd::{Arena, Options, Parameters, Shape, Tape};
use receipt::decoder::pass::Arithmetic;
use receipt::decoder::update::Recipe;
use receipt::decoder::{Config, Decoder, Microbatch, Trainer, initial, nine_targets};
use receipt::numeric::float::Precision;
use receipt::numeric::random::SplitMix64;
use receipt::numeric::vector::{self, Kernel};
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

/// One product as a linear layer forms it, x wᵀ with 128 positions and width 256: "items" are additions and
/// multiplications. Beside `peak` it says how much of the machine the product uses.
#[divan::bench]
fn product(bencher: divan::Bencher<'_, '_>) {
    let (positions, width) = (128, 256);
    let mut stream = SplitMix64::new(1);
    let mut draw = |len: usize| -> Vec<f64> { (0..len).map(|_| stream.symmetric()).collect() };
    let (x, w) = (draw(positions * width), draw(width * width));
    let parameters = Parameters::new([]);
    let mut arena = Arena::default();
    bencher.counter(ItemsCount::new(2 * positions * width * width)).bench_local(|| {
        let mut tape = Tape::new(&parameters, &mut arena, Options::default());
        let x = tape.input(Shape::matrix(positions, width), &x);
        let w = tape.input(Shape::matrix(width, width), &w);
        let y = tape.linear(x, w);
        tape.value(y)[0]
    });
}

/// Multiplications and additions that depend on nothing but their own chain, without fusing.
struct Peak(usize);

impl Kernel for Peak {
    type Output = f64;

    #[inline(always)]
    fn run<const WIDE: bool>(self) -> f64 {
        let (factor, term) = (black_box(0.999), black_box(0.001));
        let mut chains = [[1.0; 8]; 8];
        for _ in 0..self.0 {
            for chain in &mut chains {
                chain.iter_mut().for_each(|x| *x = *x * factor + term);
            }
        }
        chains.iter().flatten().sum()
    }
}

/// The most that this machine multiplies and adds in a second without fusing the two.
#[divan::bench]
fn peak(bencher: divan::Bencher<'_, '_>) {
    let steps = 20_000;
    bencher.counter(ItemsCount::new(2 * 64 * steps)).bench(|| vector::on_widest(Peak(steps)));
}

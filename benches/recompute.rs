//! Storage against time: what recompute plans retain when the loss has been computed, and what they cost.
//!
//! `cargo bench --bench recompute`. Width 128, 8 blocks, 4 heads, feed-forward 256, 4 rows of 128 targets, one thread,
//! dropout 0.1. The plans take turns, so that a disturbance of the machine meets all of them; the least time of each
//! counts. Bytes are a count of payload (`autograd::retained`), not a measurement; times are measured.
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark reads clocks, and prints")]

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use receipt::autograd::recompute::Plan;
use receipt::autograd::{Arena, Gradients};
use receipt::decoder::pass::{self, Passed};
use receipt::decoder::{Blocks, Config, Decoder, Dropout, Microbatch, initial};
use receipt::numeric::random::SplitMix64;

/// Times each plan is run.
const SAMPLES: usize = 15;

fn main() {
    let config = Config { width: 128, heads: 4, blocks: 8, feed_forward: 256, context: 128, ..Config::default() };
    let decoder = Decoder::new(config).unwrap();
    let parameters = decoder.initial_parameters(initial::GOLDEN_SEED);
    let mut stream = SplitMix64::new(7);
    let texts: Vec<Vec<u8>> = (0..4).map(|_| (0..128).map(|_| stream.word() as u8).collect()).collect();
    let microbatch = Microbatch::of_texts(&texts);
    let mut gradients = Gradients::zeros(&parameters);
    let mut run = |plan, arena: &mut Arena| -> (Passed, Duration, Vec<u64>) {
        gradients.clear();
        let mut dropout = Dropout::new(0.1, 39).unwrap();
        let blocks = Blocks { recompute: plan, dropout: Some(&mut dropout) };
        let options = pass::Options { blocks, ..pass::Options::default() };
        let start = Instant::now();
        let passed =
            pass::backward_with(&decoder, &parameters, &microbatch, 1.0 / 512.0, options, &mut gradients, arena);
        let time = start.elapsed();
        (passed.unwrap(), time, gradients.values().iter().map(|x| x.to_bits()).collect())
    };

    let at_least = |count| NonZeroUsize::new(count).unwrap();
    let plans = [
        ("none", Plan::Record),
        ("blocks", Plan::EACH),
        ("every=2", Plan::Every(at_least(2))),
        ("every=4", Plan::Every(at_least(4))),
        ("snapshots=8", Plan::Snapshots(at_least(8))),
        ("snapshots=4", Plan::Snapshots(at_least(4))),
        ("snapshots=3", Plan::Snapshots(at_least(3))),
        ("snapshots=2", Plan::Snapshots(at_least(2))),
        ("snapshots=1", Plan::Snapshots(at_least(1))),
    ];
    let mut arenas: Vec<Arena> = plans.iter().map(|_| Arena::default()).collect();
    let (_, _, bits) = run(Plan::Record, &mut Arena::default());
    let mut least = vec![Duration::MAX; plans.len()];
    let mut passed = vec![None; plans.len()];
    for _ in 0..=SAMPLES {
        for (index, (name, plan)) in plans.iter().enumerate() {
            let (pass, time, own) = run(*plan, &mut arenas[index]);
            assert!(own == bits, "{name}: other gradients");
            least[index] = least[index].min(time);
            passed[index] = Some(pass);
        }
    }
    println!("plan          retained bytes   of none   extra block runs   least time   of none");
    let bytes = |index: usize| passed[index].as_ref().map_or(0, |pass: &Passed| pass.retained.bytes());
    for (index, (name, _)) in plans.iter().enumerate() {
        let runs = passed[index].as_ref().map_or(0, |pass: &Passed| pass.reruns.total());
        println!(
            "{name:12} {:15} {:9.3} {runs:18} {:9.1} ms {:9.3}",
            bytes(index),
            bytes(index) as f64 / bytes(0) as f64,
            least[index].as_secs_f64() * 1e3,
            least[index].as_secs_f64() / least[0].as_secs_f64(),
        );
    }
}

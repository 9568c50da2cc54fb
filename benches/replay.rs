//! What a replay costs: run with `cargo bench --bench replay`.
//!
//! A run of two ranks (K = 4, 8 to 24 targets a microbatch, SplitMix64, seed 1) is verified with and without its replay,
//! at the budget's 200 000 targets and at half of it. The difference is the replay's: the run, the run without resetting, the
//! full batch, and a mean of means beside them; then all counterexamples on the three worst windows as well. It is
//! stated beside one plain forward and backward of as many targets, measured in the same process.
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark reads clocks, and prints")]
use receipt::autograd::arena::Arena;
use receipt::autograd::gradients::Gradients;
use receipt::decoder::pass::{self, Arithmetic};
use receipt::decoder::{Config, Decoder, Microbatch};
use receipt::manifest::source::{Memory, SourceName};
use receipt::numeric::random::SplitMix64;
use receipt::pipeline::{self, ReplayPlan, VerifyOptions};
use receipt::receipt::document::Detail;
use receipt::replay::Recipe;
use std::fmt::Write;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;
const RANKS: u64 = 2;
const MICROBATCHES: u64 = 4;

fn main() {
    let plain = least(|| plain_passes(200_000));
    println!("one forward and backward of 200000 targets, a row of 8 at a time in 64s, one thread: {plain:.2?}");
    for targets in [100_000, 200_000] {
        let (manifest, total) = manifest(targets);
        let without = least(|| verify(&manifest, None));
        for (what, recipes, threads) in [
            ("mean-of-means, 1 thread", vec![Recipe::MeanOfMeans], 1),
            ("mean-of-means, all threads", vec![Recipe::MeanOfMeans], threads()),
            ("all counterexamples, all threads", Recipe::ALL.to_vec(), threads()),
        ] {
            let plan = ReplayPlan { targets: total, recipes, threads, ..ReplayPlan::default() };
            let with = least(|| verify(&manifest, Some(plan.clone())));
            let replay = with.saturating_sub(without);
            let ratio = replay.as_secs_f64() / plain.as_secs_f64() / (total as f64 / 200_000.0);
            println!("{total} targets, {what}: {replay:.2?}, {ratio:.2} plain passes");
        }
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn least(mut work: impl FnMut()) -> Duration {
    let once = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..ROUNDS).map(|_| once(&mut work)).min().expect("at least one round")
}

fn verify(manifest: &str, replay: Option<ReplayPlan>) {
    let name = SourceName::Path("run.json".into());
    let sources = Memory::new().with("run.json", manifest.as_bytes());
    let options = VerifyOptions { detail: Detail::Summary, replay, ..VerifyOptions::default() };
    let verified = pipeline::verify(&sources, &[name], &options).expect("it can be read");
    assert!(verified.findings.is_empty(), "{:?}", verified.findings);
}

fn plain_passes(targets: usize) {
    let decoder = Decoder::new(Config::default()).expect("a decoder");
    let parameters = decoder.initial_parameters(39);
    let (mut gradients, mut arena) = (Gradients::zeros(&parameters), Arena::default());
    let rows = Microbatch::of_texts(&["12345678"; 64]);
    for _ in 0..targets / 512 {
        pass::backward(&decoder, &parameters, &rows, 0.1, Arithmetic::default(), &mut gradients, &mut arena)
            .expect("finite");
    }
}

/// A correct run with about so many targets, and their number.
fn manifest(targets: u64) -> (String, u64) {
    let mut words = SplitMix64::new(1);
    let mut ranks = vec![String::new(); RANKS as usize];
    let (mut total, mut window) = (0, 0);
    while total < targets {
        let counts: Vec<Vec<u64>> =
            (0..RANKS).map(|_| (0..MICROBATCHES).map(|_| 8 + words.word() % 17).collect()).collect();
        let n: u64 = counts.iter().flatten().sum();
        for (rank, counts) in counts.iter().enumerate() {
            let events = &mut ranks[rank];
            for (at, own) in counts.iter().enumerate() {
                let loss = *own as f64 * 4.5;
                let backward = loss * RANKS as f64 / n as f64;
                let sync = at + 1 == counts.len();
                let _ = write!(
                    events,
                    r#"{{"backward":{{"window":{window},"microbatch":"w{window}-r{rank}-m{at}","valid_targets":{own},"loss_sum":{loss},"backward_loss":{backward},"sync":{sync}}}}},"#
                );
            }
            let _ = write!(events, r#"{{"optimizer_step":{{"window":{window},"outcome":"applied"}}}},"zero_grad","#);
        }
        total += n;
        window += 1;
    }
    let contract = r#"{"formula":"token-mean/1","accumulation_steps":4,"world_size":2,"tail":"flush","tolerance":{"absolute":1e-9,"relative":1e-9},"precision":"float64","gradient_reduction":"mean"}"#;
    let rank =
        |(rank, events): (usize, &String)| format!(r#"{{"rank":{rank},"events":[{}]}}"#, events.trim_end_matches(','));
    let ranks: Vec<String> = ranks.iter().enumerate().map(rank).collect();
    let text =
        format!(r#"{{"schema":"accumulation/rank-manifest/1","contract":{contract},"ranks":[{}]}}"#, ranks.join(","));
    (text, total)
}

//! What `receipt explain` costs for a long run, and how large its reports are: run with `cargo bench --bench explain`.
//!
//! A run of 100 000 windows in which nearly every window is wrong is generated (`runs/long.rs`), and each report of it is
//! made with and without a replay; the fastest of three counts. `RECEIPT_BENCH_WINDOWS` sets another length.
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark reads files and clocks, and prints")]
use std::env;
use std::fs;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

#[path = "runs/long.rs"]
mod long;

const ROUNDS: usize = 3;

fn main() -> io::Result<()> {
    let windows = env::var("RECEIPT_BENCH_WINDOWS").ok().and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let path = env::temp_dir().join(format!("receipt-bench-explain-{}.jsonl", std::process::id()));
    long::write(&path, windows)?;
    println!("{windows} windows, {} bytes", fs::metadata(&path)?.len());
    for format in ["text", "markdown", "html"] {
        for replay in [None, Some("--no-replay")] {
            let mut fastest = Duration::MAX;
            let mut bytes = 0;
            for _ in 0..ROUNDS {
                let start = Instant::now();
                let mut command = Command::new(env!("CARGO_BIN_EXE_receipt"));
                let output = command.args(["explain", "--format", format]).args(replay).arg(&path).output()?;
                fastest = fastest.min(start.elapsed());
                bytes = output.stdout.len();
                assert!(output.status.success(), "{output:?}");
            }
            println!("{format:<8} {:<11} {fastest:>9.2?} {bytes:>9} bytes", replay.unwrap_or_default());
        }
    }
    fs::remove_file(&path)
}

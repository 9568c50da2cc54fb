//! What `receipt verify` costs, beside the hash of the same file: run with `cargo bench --bench verify`.
//!
//! A single-rank JSON Lines manifest of 200 MB is generated (SplitMix64, seed 1; K = 8; about 1.2 million microbatches
//! with loss sum, backward loss and a logged loss per window), then `verify --no-replay --detail summary` and coreutils'
//! `sha256sum` run on it in turn, and the fastest of each counts. Peak memory is the child's own (`VmHWM`). The 3/6/1
//! fixture is verified with process start. `RECEIPT_BENCH_BYTES` sets another size.
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark reads files and clocks, and prints")]
use std::env;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RECEIPT: &str = env!("CARGO_BIN_EXE_receipt");
const ROUNDS: usize = 5;
const MICROBATCHES: u64 = 8;

fn main() -> io::Result<()> {
    let bytes = env::var("RECEIPT_BENCH_BYTES").ok().and_then(|text| text.parse().ok()).unwrap_or(200_000_000);
    let path = env::temp_dir().join(format!("receipt-bench-{}.jsonl", std::process::id()));
    let (size, windows) = generate(&path, bytes)?;
    println!("{size} bytes, {windows} windows, {} microbatches", windows * MICROBATCHES);
    let mut verify = Duration::MAX;
    let mut hash = Duration::MAX;
    for _ in 0..ROUNDS {
        verify =
            verify.min(timed(Command::new(RECEIPT).args(["verify", "--no-replay", "--detail", "summary"]).arg(&path))?);
        hash = hash.min(timed(Command::new("sha256sum").arg(&path))?);
    }
    let ratio = verify.as_secs_f64() / hash.as_secs_f64();
    println!("verify --detail summary {verify:.2?}, sha256sum {hash:.2?}: ratio {ratio:.2}");
    match peak_memory(&path)? {
        Some(kib) => println!("peak memory {} MB", kib / 1000),
        None => println!("peak memory: not known on this system"),
    }
    fs::remove_file(&path)?;
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/worked/three-six-one.json");
    let mut small = Duration::MAX;
    for _ in 0..20 {
        small = small.min(timed(Command::new(RECEIPT).arg("verify").arg(&fixture))?);
    }
    println!("verify of the 3/6/1 fixture, process start included: {small:.2?}");
    Ok(())
}

/// Wall time of a command that must succeed.
fn timed(command: &mut Command) -> io::Result<Duration> {
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).status()?;
    assert!(status.success(), "{command:?} failed");
    Ok(start.elapsed())
}

/// The largest resident set that a verification reaches, in KiB, sampled while it runs.
fn peak_memory(path: &PathBuf) -> io::Result<Option<u64>> {
    let mut child = Command::new(RECEIPT)
        .args(["verify", "--no-replay", "--detail", "summary"])
        .arg(path)
        .stdout(Stdio::null())
        .spawn()?;
    let mut peak = None;
    while child.try_wait()?.is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak = peak.max(line.and_then(|line| line.split_whitespace().next()?.parse().ok()));
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(peak)
}

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Writes a right run of about so many bytes; gives its size and its windows.
fn generate(path: &Path, bytes: u64) -> io::Result<(u64, u64)> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut random = Random(1);
    let mut size = 0;
    let mut write = |out: &mut BufWriter<File>, line: String| {
        size += line.len() as u64 + 1;
        writeln!(out, "{line}").map(|()| size)
    };
    let contract = concat!(
        r#"{"schema":"accumulation/microbatch-manifest/1","rank":0,"contract":{"formula":"token-mean/1","#,
        r#""accumulation_steps":8,"world_size":1,"tail":"flush","tolerance":{"absolute":1e-9,"relative":1e-9},"#,
        r#""precision":"float64"}}"#
    );
    write(&mut out, contract.to_owned())?;
    for window in 0.. {
        let targets: Vec<u64> = (0..MICROBATCHES).map(|_| 1 + random.next() % 4096).collect();
        let sums: Vec<f64> = targets.iter().map(|&n| n as f64 * (1.5 + random.unit())).collect();
        let all: u64 = targets.iter().sum();
        write(&mut out, "\"zero_grad\"".to_owned())?;
        for (index, (n, sum)) in targets.iter().zip(&sums).enumerate() {
            let weighted = sum / all as f64;
            write(
                &mut out,
                format!(
                    r#"{{"backward":{{"window":{window},"microbatch":"w{window}-r0-m{index}","valid_targets":{n},"loss_sum":{sum},"backward_loss":{weighted}}}}}"#
                ),
            )?;
        }
        let loss = sums.iter().sum::<f64>() / all as f64;
        write(&mut out, format!(r#"{{"logged":{{"window":{window},"loss":{loss}}}}}"#))?;
        let size = write(&mut out, format!(r#"{{"optimizer_step":{{"window":{window},"outcome":"applied"}}}}"#))?;
        if size >= bytes {
            out.flush()?;
            return Ok((size, window + 1));
        }
    }
    unreachable!("bug: the windows have run out")
}

//! Reading a run of one rank: parse, canonical bytes and their hash, against SHA-256 of the same bytes.
//!
//! `cargo bench --bench read -- [megabytes]`; the manifest is generated here. Prints seconds, MB/s and the ratio to
//! hashing the file's bytes on one thread, each the best of five.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench measures and prints")]
use receipt::canonical::Digest;
use receipt::canonical::Hasher;
use receipt::finding::Findings;
use receipt::manifest::open_run;
use receipt::manifest::source::SourceError;
use receipt::manifest::source::SourceName;
use receipt::manifest::source::Sources;
use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

struct Disk;

impl Sources for Disk {
    fn open(&self, name: &SourceName) -> Result<Box<dyn Read + Send>, SourceError> {
        Ok(Box::new(File::open(name.path().unwrap_or_default())?))
    }
}

/// K = 8, one window after another, as a training loop's `json.dumps` writes them.
fn generate(path: &Path, bytes: usize) -> std::io::Result<u64> {
    let mut out = std::io::BufWriter::new(File::create(path)?);
    let contract = r#"{"formula": "token-mean/1", "accumulation_steps": 8, "world_size": 1, "tail": "flush", "tolerance": {"absolute": 1e-06, "relative": 1e-05}, "precision": "float32"}"#;
    writeln!(out, r#"{{"schema": "accumulation/microbatch-manifest/1", "rank": 0, "contract": {contract}}}"#)?;
    let mut state = 39_u64;
    let mut real = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let (mut written, mut events, mut window) = (0, 0, 0);
    while written < bytes {
        let mut text = String::new();
        for index in 0..8 {
            let targets = 1 + (real() * 4096.0) as u64;
            let (loss, mean) = (real() * 10.0 * targets as f64, real() * 3.0);
            text += &format!(
                "{{\"backward\": {{\"window\": {window}, \"microbatch\": \"w{window}-r0-m{index}\", \"valid_targets\": {targets}, \"loss_sum\": {loss:?}, \"backward_loss\": {mean:?}}}}}\n"
            );
        }
        text += &format!(
            "{{\"logged\": {{\"window\": {window}, \"loss\": {:?}, \"grad_norm\": {:?}}}}}\n{{\"optimizer_step\": {{\"window\": {window}, \"outcome\": \"applied\", \"learning_rate\": 0.01}}}}\n\"zero_grad\"\n",
            real() * 10.0,
            real()
        );
        out.write_all(text.as_bytes())?;
        (written, events, window) = (written + text.len(), events + 11, window + 1);
    }
    out.flush()?;
    Ok(events)
}

fn best<T>(mut work: impl FnMut() -> T) -> f64 {
    let mut time = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        black_box(work());
        time = time.min(start.elapsed().as_secs_f64());
    }
    time
}

fn hash(path: &Path) -> std::io::Result<Digest> {
    let mut hasher = Hasher::new();
    let mut file = File::open(path)?;
    let mut block = vec![0; 1 << 18];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hasher.finish()),
            length => hasher.update(&block[..length]),
        }
    }
}

fn read(path: &Path) -> u64 {
    let opened = open_run(&Disk, &[SourceName::Path(path.to_owned())], false).expect("the manifest opens");
    let mut findings = Findings::default();
    let mut events = 0;
    for mut stream in opened.streams {
        while let Some(event) = stream.next(&mut findings) {
            black_box(&event);
        }
        events += stream.digest().expect("the manifest can be read").events;
    }
    assert!(findings.is_empty());
    events
}

fn main() -> std::io::Result<()> {
    let megabytes: usize = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(200);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("rank-0.jsonl");
    let events = generate(&path, megabytes * 1_000_000)?;
    let size = path.metadata()?.len() as f64 / 1e6;
    let hash = best(|| hash(&path).expect("the file can be read"));
    let reading = best(|| assert_eq!(read(&path), events));
    println!("{size:.1} MB, {events} events");
    println!("SHA-256 of the bytes: {hash:.3} s, {:.0} MB/s", size / hash);
    println!("read, canonical hash: {reading:.3} s, {:.0} MB/s, {:.2} x SHA-256", size / reading, reading / hash);
    if let Some(peak) = peak_memory() {
        println!("peak memory of the process: {peak}");
    }
    Ok(())
}

/// As Linux tells it.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map(|size| size.trim().to_owned())
}

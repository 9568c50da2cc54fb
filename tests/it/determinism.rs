//! The same receipt bytes in every run, on one core and on several, in debug and release and on other machines: their
//! hashes are committed in `fixtures/receipts.txt`. `UPDATE=1 cargo test` rewrites it.
use crate::runs::{self, binary};
use receipt::receipt::Sealed;
use serde_json::{Value, json};
use std::path::Path;

/// A worked run, a recorded one in one file, and a recorded one of two ranks.
const FROZEN: [&str; 4] = [
    "worked/three-six-one.json",
    "worked/fully-witnessed.json",
    "recorded/plain_amp_correct_f32.jsonl",
    "recorded/ddp_rank_mean_of_means_f32/rank-manifest.json",
];

fn sealed(name: &str) -> Sealed {
    runs::verify_files(&[runs::fixture(name)]).sealed
}

fn hash(sealed: &Sealed) -> String {
    sealed.receipt().receipt_sha256.expect("a sealed receipt").to_string()
}

#[test]
fn receipts_have_the_hashes_that_they_had_elsewhere() {
    let text: String = FROZEN.iter().map(|name| format!("{}  {name}\n", hash(&sealed(name)))).collect();
    runs::assert_fresh(&runs::fixture("receipts.txt"), &text);
}

#[test]
fn again_and_again() {
    for name in FROZEN {
        let first = sealed(name);
        for _ in 0..8 {
            assert!(sealed(name).bytes() == first.bytes(), "{name}");
        }
    }
}

#[test]
fn on_several_threads_at_once() {
    let name = "recorded/ddp_rank_mean_of_means_f32/rank-manifest.json";
    let first = sealed(name);
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..8).map(|_| scope.spawn(|| sealed(name))).collect();
        assert!(others.into_iter().all(|other| other.join().expect("a receipt").bytes() == first.bytes()));
    });
}

/// A run of many windows, which is read in many blocks, with faults in some of them.
fn long_run() -> String {
    let header = json!({"schema": "accumulation/microbatch-manifest/1", "rank": 0, "contract": {
        "formula": "token-mean/1", "accumulation_steps": 2, "world_size": 1, "tail": "flush", "precision": "float64",
        "tolerance": {"absolute": 0, "relative": 1e-12}}});
    let mut text = format!("{header}\n");
    let mut line = |event: Value| text.push_str(&format!("{event}\n"));
    for window in 0u64..10_000 {
        line(json!("zero_grad"));
        for part in 0u64..2 {
            let (targets, loss) = (1 + (window + part) % 7, ((window * 37 + part * 11) % 101) as f64 / 8.0);
            line(json!({"backward": {"window": window, "microbatch": format!("w{window}-m{part}"),
                "valid_targets": targets, "loss_sum": loss}}));
        }
        if window % 1000 == 7 {
            line(json!({"logged": {"window": window, "loss": -1.0}}));
        }
        line(json!({"optimizer_step": {"window": window, "outcome": "applied"}}));
    }
    text
}

/// The number of decoding threads is that of the cores that the process may use.
#[cfg(target_os = "linux")]
#[test]
fn on_one_core_and_on_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.jsonl");
    std::fs::write(&path, long_run()).expect("written");
    let arguments = |path: &Path| vec!["verify".into(), "--format".into(), "json".into(), path.as_os_str().to_owned()];
    let all = binary::run(arguments(&path));
    assert_eq!(all.code, 1);
    assert!(all.out.contains("GA201"));
    let mut one = std::process::Command::new("taskset");
    let one = one.args(["-c", "0"]).arg(env!("CARGO_BIN_EXE_receipt")).args(arguments(&path)).output();
    // Without `taskset` there is nothing to compare; a container that may not use core 0 says so on standard error.
    if let Some(one) = one.ok().filter(|one| one.status.code() != Some(127) && !one.stdout.is_empty()) {
        assert!(one.stdout == all.out.as_bytes(), "another receipt on one core");
    }
}

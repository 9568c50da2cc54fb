//! Verifying runs, in memory, on disk and through the binary, as the other modules here do it.
pub(crate) mod binary;
pub(crate) mod edit;

use crate::reader::run::{Disk, path};
use receipt::finding::{Code, Severity};
use receipt::manifest::source::{Memory, SourceName, Sources};
use receipt::pipeline::{self, ReplayPlan, Verified, VerifyOptions};
use receipt::receipt::document::{Receipt, Verdict};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A file below `fixtures/`, relative to the package's folder, which is where tests run.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new("fixtures").join(name)
}

/// A JSON fixture.
pub(crate) fn document(name: &str) -> Value {
    let path = fixture(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn verify_with(sources: &dyn Sources, inputs: &[SourceName], options: &VerifyOptions) -> Verified {
    pipeline::verify(sources, inputs, options).expect("the inputs can be read")
}

/// Verifies what is on disk, as `receipt verify` does it: with a replay.
pub(crate) fn verify_files(paths: &[PathBuf]) -> Verified {
    let inputs: Vec<SourceName> = paths.iter().cloned().map(SourceName::Path).collect();
    let replay = Some(ReplayPlan::default());
    verify_with(&Disk, &inputs, &VerifyOptions { replay, ..VerifyOptions::default() })
}

/// Verifies one file whose bytes are at hand.
pub(crate) fn verify_bytes(bytes: &[u8]) -> Verified {
    verify_with(&Memory::new().with("m", bytes), &[path("m")], &VerifyOptions::default())
}

/// Verifies a rank manifest.
pub(crate) fn verify_value(manifest: &Value) -> Verified {
    verify_bytes(manifest.to_string().as_bytes())
}

pub(crate) fn receipt(verified: &Verified) -> &Receipt {
    verified.sealed.receipt()
}

/// The receipt as another program reads it.
pub(crate) fn tree(verified: &Verified) -> Value {
    serde_json::from_slice(verified.sealed.bytes()).expect("a receipt is JSON")
}

/// The codes found, in the receipt's order.
pub(crate) fn codes(verified: &Verified) -> Vec<Code> {
    receipt(verified).findings.iter().map(|finding| finding.code).collect()
}

/// The codes of errors, in the receipt's order.
pub(crate) fn errors(verified: &Verified) -> Vec<Code> {
    let findings = receipt(verified).findings.iter();
    findings.filter(|finding| finding.severity == Severity::Error).map(|finding| finding.code).collect()
}

/// The exit code that the verdict means (MANIFEST.md §9).
pub(crate) fn exit(verified: &Verified) -> i32 {
    match receipt(verified).verdict {
        Verdict::Verified => 0,
        Verdict::Violated => 1,
        Verdict::Rejected => 3,
    }
}

/// `input.sha256` of a run that was not rejected.
pub(crate) fn input_hash(verified: &Verified) -> String {
    receipt(verified).input.sha256.expect("a run that was not rejected").to_string()
}

/// Whether stale committed files are to be rewritten.
pub(crate) fn is_update() -> bool {
    std::env::var_os("UPDATE").is_some()
}

/// A committed file that has to hold this text; rewritten where asked.
pub(crate) fn assert_fresh(path: &Path, text: &str) {
    if std::fs::read_to_string(path).ok().as_deref() == Some(text) {
        return;
    }
    assert!(is_update(), "{} is stale, run `UPDATE=1 cargo test`; it should be\n{text}", path.display());
    std::fs::write(path, text).expect("a file that can be written");
}

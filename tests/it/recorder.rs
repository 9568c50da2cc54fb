//! Manifests that the Python recorder wrote in its examples: each gives the exit code, the codes and the recipe that
//! `fixtures/recorder/expected.json` says, through the library and through the binary. CI needs no PyTorch for it;
//! `recorder/record_fixtures.py` records them again.
use crate::fixtures::entries;
use crate::runs::{self, binary};
use receipt::finding::Code;
use receipt::manifest::source::SourceName;
use receipt::pipeline::{Verified, VerifyOptions};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What of a line is written for each microbatch of a manifest without vectors, other events included.
const BYTES_OF_A_MICROBATCH: usize = 300;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// A microbatch manifest, or a folder of one run's.
    path: String,
    /// What the loop did, for readers.
    #[allow(dead_code, reason = "for readers")]
    what: String,
    exit: i32,
    /// All codes that fire, and no other.
    codes: BTreeSet<Code>,
    recipe: Option<String>,
    #[serde(default)]
    partial: bool,
}

impl Case {
    fn files(&self) -> Vec<PathBuf> {
        let path = runs::fixture("recorder").join(&self.path);
        if path.is_dir() { entries(&path) } else { vec![path] }
    }

    fn verified(&self) -> Verified {
        let inputs: Vec<SourceName> = self.files().into_iter().map(SourceName::Path).collect();
        let options = VerifyOptions { partial: self.partial, ..VerifyOptions::default() };
        runs::verify_with(&crate::reader::run::Disk, &inputs, &options)
    }
}

fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(runs::fixture("recorder/expected.json")).expect("expected.json");
    let Expected { cases } = serde_json::from_str(&text).expect("cases");
    cases
}

fn faults(case: &Case, verified: &Verified) -> Vec<String> {
    let mut faults = vec![];
    if runs::exit(verified) != case.exit {
        faults.push(format!("exit {}, not {}", runs::exit(verified), case.exit));
    }
    let fired: BTreeSet<Code> = runs::codes(verified).into_iter().collect();
    if fired != case.codes {
        faults.push(format!("{fired:?} fired, not {:?}", case.codes));
    }
    let diagnosis = runs::receipt(verified).diagnosis.as_ref();
    let recipes = diagnosis.map(|diagnosis| diagnosis.recipes.clone()).unwrap_or_default();
    if case.recipe.as_ref().map_or(!recipes.is_empty(), |recipe| !recipes.contains(recipe)) {
        faults.push(format!("the diagnosis is {recipes:?}, not {:?}", case.recipe));
    }
    faults.iter().map(|fault| format!("{}: {fault}", case.path)).collect()
}

#[test]
fn every_manifest_gives_what_is_expected_of_it() {
    let told: Vec<String> = cases().iter().flat_map(|case| faults(case, &case.verified())).collect();
    assert!(told.is_empty(), "\n{}\n", told.join("\n"));
}

#[test]
fn the_check_can_fail() {
    let case = |exit, code, recipe: Option<&str>| Case {
        path: "plain-zero-inside.jsonl".to_owned(),
        what: String::new(),
        exit,
        codes: BTreeSet::from([code]),
        recipe: recipe.map(str::to_owned),
        partial: false,
    };
    let right = case(1, Code::GA303, Some("token-mean"));
    let verified = right.verified();
    assert!(faults(&right, &verified).is_empty());
    assert_eq!(faults(&case(0, Code::GA303, Some("token-mean")), &verified).len(), 1);
    assert_eq!(faults(&case(1, Code::GA304, Some("token-mean")), &verified).len(), 1);
    assert_eq!(faults(&case(1, Code::GA303, Some("mean-of-means")), &verified).len(), 1);
    assert_eq!(faults(&case(1, Code::GA303, None), &verified).len(), 1);
}

#[test]
fn every_manifest_has_a_case() {
    let named: BTreeSet<String> = cases().into_iter().map(|case| case.path).collect();
    let name = |path: PathBuf| path.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
    let found: BTreeSet<String> =
        entries(&runs::fixture("recorder")).into_iter().map(name).filter(|name| name != "expected.json").collect();
    assert_eq!(named, found);
}

#[test]
fn the_binary_exits_with_what_is_expected() {
    for case in cases() {
        let partial = case.partial.then(|| "--partial".into());
        let arguments = ["verify".into()].into_iter().chain(partial).chain(case.files());
        let ran = binary::run(arguments);
        assert_eq!(ran.code, case.exit, "{}: {}", case.path, ran.shown());
    }
}

#[test]
fn a_write_that_a_crash_tore_is_an_error_unless_it_is_declared_partial() {
    // Up to the last window that was stepped the file is whole; a write that the crash tore is not.
    let killed = cases().into_iter().find(|case| case.partial).expect("a killed run");
    let whole = std::fs::read(&killed.files()[0]).expect("a manifest");
    let torn = [whole.as_slice(), br#"{"backward":{"window":3,"micro"#].concat();
    for (bytes, exit) in [(&whole, 0), (&torn, 3)] {
        assert_eq!(binary::run_with_input(["verify", "--no-replay", "-"], bytes).code, exit);
        assert_eq!(binary::run_with_input(["verify", "--no-replay", "--partial", "-"], bytes).code, 0);
    }
}

/// Numerators from the loss and its divisor, and those from the logits, lead to the same verdict.
#[test]
fn the_source_of_numerators_does_not_change_the_verdict() {
    let cases = cases();
    let find = |path: &str| cases.iter().find(|case| case.path == path).expect("a case").verified();
    for (scaled, recomputed) in [
        ("transformers-4.45.2.jsonl", "transformers-4.45.2-recomputed.jsonl"),
        ("transformers-4.57.6.jsonl", "transformers-4.57.6-recomputed.jsonl"),
        ("transformers-5.24.0.jsonl", "transformers-5.24.0-recomputed.jsonl"),
        ("lightning-2.6.6-scaled-loss.jsonl", "lightning-2.6.6.jsonl"),
    ] {
        let (scaled, recomputed) = (find(scaled), find(recomputed));
        let totals = |verified: &Verified| runs::tree(verified)["totals"]["valid_targets"].clone();
        assert_eq!(totals(&scaled), totals(&recomputed));
        assert_eq!(runs::codes(&scaled), runs::codes(&recomputed));
    }
}

#[test]
fn a_microbatch_takes_few_bytes() {
    let sizes = cases().into_iter().filter(|case| !case.path.starts_with("vectors")).flat_map(|case| case.files());
    for file in sizes {
        let text = std::fs::read_to_string(&file).expect("a manifest");
        let microbatches = text.lines().filter(|line| line.starts_with("{\"backward\"")).count();
        assert!(microbatches > 0, "{}", file.display());
        let header = text.lines().next().expect("a header").len();
        let bytes = (text.len() - header) / microbatches;
        assert!(bytes < BYTES_OF_A_MICROBATCH, "{}: {bytes} bytes a microbatch", file.display());
        let longest = text.lines().filter(|line| line.starts_with("{\"backward\"")).map(str::len).max();
        assert!(longest.expect("a backward") < BYTES_OF_A_MICROBATCH, "{}", file.display());
    }
}

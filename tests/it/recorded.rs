//! Runs recorded from real training loops: each gives the verdict, the findings and the recipe that
//! `fixtures/recorded/EXPECTED.md` says, through the library and through the binary.
use crate::runs::{self, binary};
use receipt::finding::{Code, Severity};
use receipt::pipeline::Verified;
use serde::Deserialize;
use std::path::PathBuf;

/// `cases.json`; its path can be given in `RECORDED_CASES`, so that other recordings can be tried.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    path: String,
    /// What the recorder did, in its own words.
    #[allow(dead_code, reason = "for readers")]
    source: String,
    exit: i32,
    /// Codes that must fire.
    must: Vec<Code>,
    /// Prefixes of codes that must not; or `error` for any error.
    never: Vec<String>,
    recipe: Option<String>,
}

fn cases() -> (PathBuf, Vec<Case>) {
    let path = std::env::var_os("RECORDED_CASES").map_or(runs::fixture("recorded/cases.json"), PathBuf::from);
    let text = std::fs::read_to_string(&path).expect("cases.json");
    let Cases { cases } = serde_json::from_str(&text).expect("cases");
    assert!(!cases.is_empty());
    (path.parent().expect("a folder").to_owned(), cases)
}

fn faults(case: &Case, verified: &Verified) -> Vec<String> {
    let receipt = runs::receipt(verified);
    let mut faults = vec![];
    if runs::exit(verified) != case.exit {
        faults.push(format!("exit {}, not {}", runs::exit(verified), case.exit));
    }
    for code in case.must.iter().filter(|code| !receipt.findings.iter().any(|finding| finding.code == **code)) {
        faults.push(format!("{code} did not fire"));
    }
    for finding in &receipt.findings {
        let is_error = finding.severity == Severity::Error;
        let refused =
            |never: &String| if never == "error" { is_error } else { finding.code.as_str().starts_with(never) };
        if case.never.iter().any(refused) {
            faults.push(format!("{} fired: {}", finding.code, finding.message));
        }
    }
    let diagnosis = receipt.diagnosis.as_ref();
    let recipes = diagnosis.map(|diagnosis| diagnosis.recipes.clone()).unwrap_or_default();
    if let Some(recipe) = case.recipe.as_ref().filter(|recipe| !recipes.contains(recipe)) {
        faults.push(format!("the diagnosis is {recipes:?}, without {recipe}"));
    }
    faults.iter().map(|fault| format!("{}: {fault}", case.path)).collect()
}

#[test]
fn every_recording_gives_what_is_expected_of_it() {
    let (folder, cases) = cases();
    let told: Vec<String> =
        cases.iter().flat_map(|case| faults(case, &runs::verify_files(&[folder.join(&case.path)]))).collect();
    assert!(told.is_empty(), "\n{}\n", told.join("\n"));
}

#[test]
fn every_recording_has_a_case() {
    let (folder, cases) = cases();
    for entry in crate::fixtures::entries(&folder) {
        let name = entry.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
        let is_run = entry.is_dir() || name.contains(".jsonl");
        assert!(!is_run || cases.iter().any(|case| case.path.split('/').next() == Some(&name)), "{name} has no case");
    }
}

#[test]
fn the_binary_exits_with_what_is_expected() {
    let (folder, cases) = cases();
    for case in cases {
        let ran = binary::verify(&folder.join(&case.path));
        assert_eq!(ran.code, case.exit, "{}: {}", case.path, ran.shown());
        for code in &case.must {
            assert!(ran.out.contains(code.as_str()), "{}: {code} is not shown in\n{}", case.path, ran.out);
        }
        if let Some(recipe) = &case.recipe {
            assert!(ran.out.contains(recipe), "{}: {recipe} is not shown in\n{}", case.path, ran.out);
        }
    }
}

#[test]
fn the_case_check_can_fail() {
    let verified = runs::verify_files(&[runs::fixture("worked/three-six-one-logs-mean-of-means.json")]);
    let case = |must: Code, never: &str, exit, recipe: &str| Case {
        path: "x".to_owned(),
        source: String::new(),
        exit,
        must: vec![must],
        never: vec![never.to_owned()],
        recipe: Some(recipe.to_owned()),
    };
    assert!(faults(&case(Code::GA201, "GA1", 1, "mean-of-means"), &verified).is_empty());
    assert_eq!(faults(&case(Code::GA201, "GA1", 0, "mean-of-means"), &verified), ["x: exit 1, not 0"]);
    assert_eq!(faults(&case(Code::GA203, "GA1", 1, "mean-of-means"), &verified), ["x: GA203 did not fire"]);
    assert_eq!(faults(&case(Code::GA201, "GA2", 1, "mean-of-means"), &verified).len(), 1);
    assert_eq!(faults(&case(Code::GA201, "error", 1, "mean-of-means"), &verified).len(), 1);
    assert_eq!(faults(&case(Code::GA201, "GA1", 1, "token-mean"), &verified).len(), 1);
}

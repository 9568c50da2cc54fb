//! GitLab's Code Quality report.
use super::{every_fixture, schema};
use receipt::finding::Severity;
use receipt::report::ci::gitlab;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[test]
fn every_fixture_is_valid() {
    let schema = schema("gitlab-code-quality.schema.json");
    for each in every_fixture(gitlab::json) {
        let name = &each.name;
        let report: Value = serde_json::from_str(&each.text).expect("JSON");
        let faults: Vec<String> = schema.iter_errors(&report).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{name}: {faults:#?}");
        let entries = report.as_array().expect("a list");
        assert_eq!(entries.len(), each.problems(Severity::Error) + each.problems(Severity::Warning), "{name}");
        let prints: BTreeSet<&str> = entries.iter().filter_map(|entry| entry["fingerprint"].as_str()).collect();
        assert_eq!(prints.len(), entries.len(), "{name}: two entries have one fingerprint");
        let minor = entries.iter().filter(|entry| entry["severity"] == "minor").count();
        assert_eq!(minor, each.problems(Severity::Warning), "{name}");
    }
}

#[test]
fn the_schema_refuses() {
    let schema = schema("gitlab-code-quality.schema.json");
    let entry = json!({"description": "x", "check_name": "GA203", "fingerprint": "0".repeat(64), "severity": "critical",
        "location": {"path": "run.jsonl", "lines": {"begin": 1}}});
    assert!(schema.is_valid(&json!([entry])));
    for (pointer, wrong) in [
        ("/severity", json!("error")),
        ("/location/path", json!("./run.jsonl")),
        ("/location/lines/begin", json!(0)),
        ("/fingerprint", json!("")),
    ] {
        let mut changed = entry.clone();
        *changed.pointer_mut(pointer).expect("a field") = wrong;
        assert!(!schema.is_valid(&json!([changed])), "{pointer}");
    }
}

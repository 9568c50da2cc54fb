//! SARIF, against the published schema and what GitHub's code scanning asks beyond it.
use super::{every_fixture, schema};
use receipt::finding::{CODES, Severity};
use receipt::report::ci::sarif;
use serde_json::Value;
use std::collections::BTreeSet;

/// Bytes, results and rules that code scanning takes of one run (GitHub's "SARIF support for code scanning").
const MOST_BYTES: usize = 10 << 20;
const MOST_RESULTS: usize = 5000;

#[test]
fn every_fixture_is_valid() {
    let schema = schema("sarif-2.1.0.schema.json");
    let formatted = every_fixture(sarif::json);
    let mut placed = 0;
    for each in &formatted {
        let name = &each.name;
        let log: Value = serde_json::from_str(&each.text).expect("JSON");
        let faults: Vec<String> =
            schema.iter_errors(&log).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(faults.is_empty(), "{name}: {faults:#?}");
        let run = &log["runs"][0];
        let results = run["results"].as_array().expect("results");
        let found = each.problems(Severity::Error) + each.problems(Severity::Warning);
        assert_eq!(results.len(), found, "{name}");
        assert!(each.text.len() < MOST_BYTES && results.len() <= MOST_RESULTS, "{name}");
        let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
        assert!(
            rules.iter().zip(CODES).all(|(rule, code)| rule["id"] == code.as_str()),
            "rules in order of their codes"
        );
        let mut prints = BTreeSet::new();
        for result in results {
            let index = result["ruleIndex"].as_u64().expect("an index") as usize;
            assert_eq!(rules[index]["id"], result["ruleId"], "{name}");
            let physical = &result["locations"][0]["physicalLocation"];
            let uri = physical["artifactLocation"]["uri"].as_str().unwrap_or_else(|| panic!("{name}: no file"));
            assert!(uri.starts_with("fixtures/"), "{name}: {uri} is not relative to the repository");
            placed += usize::from(physical["region"]["startColumn"].is_u64());
            assert!(
                prints.insert(result["partialFingerprints"]["primaryLocationLineHash"].to_string()),
                "{name}: twice"
            );
        }
    }
    assert!(placed > 100, "only {placed} results have a column");
}

#[test]
fn a_column_points_at_the_field() {
    let formatted = every_fixture(sarif::json);
    let readme = formatted.iter().find(|each| each.name.ends_with("readme.jsonl")).expect("the README's run");
    let log: Value = serde_json::from_str(&readme.text).expect("JSON");
    let region = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
    let text = std::fs::read_to_string("fixtures/worked/readme.jsonl").expect("a fixture");
    let line = region["startLine"].as_u64().expect("a line") as usize;
    let column = region["startColumn"].as_u64().expect("a column") as usize;
    let rest: String = text.lines().nth(line - 1).expect("that line").chars().skip(column - 1).collect();
    assert_eq!(rest, "0.13333333333333333}}");
}

#[test]
fn the_schema_refuses() {
    let schema = schema("sarif-2.1.0.schema.json");
    let formatted = every_fixture(sarif::json);
    let log: Value = serde_json::from_str(&formatted[0].text).expect("JSON");
    for (pointer, wrong) in
        [("/version", "2.0.0"), ("/runs/0/results/0/level", "fatal"), ("/runs/0/columnKind", "bytes")]
    {
        let mut changed = log.clone();
        *changed.pointer_mut(pointer).unwrap_or_else(|| panic!("nothing at {pointer}")) = wrong.into();
        assert!(!schema.is_valid(&changed), "{pointer}");
    }
}

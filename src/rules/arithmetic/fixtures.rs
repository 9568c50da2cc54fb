//! Fixtures: which rules of GA2xx fire on the recorded runs and which recipe is named, and each rule's own pair.
#![allow(clippy::disallowed_methods, reason = "a test reads its fixtures")]
use super::ARITHMETIC;
use super::testing::codes;
use super::testing::judged;
use crate::ledger::sample::Run;
use crate::manifest::contract::Contract;
use serde_json::Value;
use std::fs::read_to_string;
use std::path::Path;

fn read(path: &str) -> Run {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recorded").join(path);
    let text = |path: &Path| read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.extension().is_some_and(|extension| extension == "jsonl") {
        return Run::from_lines(&[text(&path)], None);
    }
    let manifest: Value = serde_json::from_str(&text(&path)).expect("JSON");
    let contract: Contract = serde_json::from_value(manifest["contract"].clone()).expect("a contract");
    let folder = path.parent().expect("a folder");
    let name = |rank: &Value| folder.join(rank["microbatch_manifest"].as_str().expect("a name"));
    let ranks = manifest["ranks"].as_array().expect("ranks").iter();
    let texts: Vec<String> = ranks.map(|rank| text(&name(rank))).collect();
    Run::from_lines(&texts, Some(contract))
}

#[test]
fn recorded_runs_fire_what_they_must_and_nothing_else() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recorded/cases.json");
    let cases: Value = serde_json::from_str(&read_to_string(cases).expect("cases")).expect("JSON");
    for case in cases["cases"].as_array().expect("cases") {
        let path = case["path"].as_str().expect("a path");
        let run = read(path);
        let (codes, report) = (judged(&run), run.diagnosed());
        let fires = |code: &str| codes.iter().any(|(fired, _)| fired == code);
        for must in case["must"].as_array().expect("codes").iter().filter_map(Value::as_str) {
            assert!(!must.starts_with("GA2") || fires(must), "{path}: {must} does not fire");
        }
        for never in case["never"].as_array().expect("prefixes").iter().filter_map(Value::as_str) {
            let never = if never == "error" { "GA2" } else { never };
            let alarm = codes.iter().find(|(code, _)| code.starts_with(never) && !code.ends_with("(w)"));
            assert!(alarm.is_none(), "{path}: {alarm:?}");
        }
        if let Some(recipe) = case["recipe"].as_str() {
            assert!(report.recipes.iter().any(|named| named == recipe), "{path}: {report:?}");
        }
    }
}

#[test]
fn each_rule_fires_on_its_bad_fixture_and_on_no_good_one() {
    for rule in ARITHMETIC {
        let folder = format!("fixtures/rules/{}-{}", rule.code, rule.code.name());
        let read = |name: &str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&folder).join(name);
            Run::from_manifest(&read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        };
        assert_eq!(judged(&read("good.json")), [], "{folder}");
        let codes = codes(&read("bad.json"));
        assert!(codes.len() == 1 && codes[0].starts_with(rule.code.as_str()), "{folder}: {codes:?}");
    }
}

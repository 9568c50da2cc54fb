//! Runs one rule over a run written as scripts (`crate::clock::testing`), for the rules' own tests.
use crate::clock::Clock;
use crate::clock::testing::align;
use crate::clock::testing::contract;
use crate::clock::testing::manifest;
use crate::clock::testing::windows;
use crate::finding::Findings;
use crate::finding::Folded;
use crate::ledger::Ledger;
use crate::manifest::contract::Contract;
use crate::manifest::document::RankEntry;
use crate::manifest::resume::Resume;
use crate::manifest::window::Window;
use crate::replay::Coordinates;
use crate::replay::Lowering;
use crate::rules::Check;
use crate::rules::Judged;
use crate::rules::Rule;
use serde_json::Value;

/// What a rule finds in a run: the contract is K = 3 on one rank under flush unless `with` says otherwise.
pub(in crate::rules) fn find(rule: &Rule, with: Value, scripts: &[&str]) -> Vec<Folded> {
    judged(&[rule], &contract(with), None, false, &windows(scripts))
}

/// How many findings a rule has in a run.
pub(in crate::rules) fn fires(rule: &Rule, with: Value, scripts: &[&str]) -> u64 {
    find(rule, with, scripts).iter().map(|folded| folded.count).sum()
}

/// The message of a rule's only finding in a run.
pub(in crate::rules) fn message(rule: &Rule, with: Value, scripts: &[&str]) -> String {
    match find(rule, with, scripts).as_slice() {
        [folded] if folded.count == 1 => folded.message.clone(),
        other => panic!("one finding expected: {other:?}"),
    }
}

/// What a rule finds in a run that was resumed or cut.
pub(in crate::rules) fn find_in(
    rule: &Rule,
    with: Value,
    resume: Option<&Resume>,
    partial: bool,
    scripts: &[&str],
) -> Vec<Folded> {
    judged(&[rule], &contract(with), resume, partial, &windows(scripts))
}

/// What rules find in a manifest's text.
pub(in crate::rules) fn find_in_manifest(rules: &[&Rule], text: &str) -> Vec<Folded> {
    let manifest = manifest(text);
    let events = |entry: &RankEntry| match entry {
        RankEntry::Inline(rank) => rank.events.to_vec(),
        RankEntry::Reference(_) => panic!("fixtures of rules are inline"),
    };
    let windows = align(manifest.ranks.iter().map(events).collect());
    judged(rules, &manifest.contract.with_defaults(), manifest.resume.as_ref(), false, &windows)
}

fn judged(
    rules: &[&Rule],
    contract: &Contract,
    resume: Option<&Resume>,
    partial: bool,
    windows: &[Window],
) -> Vec<Folded> {
    let mut clock = Clock::new(contract, resume, partial);
    let mut ledger = Ledger::new(contract, resume);
    let (mut lowering, mut coordinates) = (Lowering::new(contract, resume), Coordinates::new(contract, resume));
    let mut findings = Findings::default();
    for window in windows {
        let (ledger, clock) = (&ledger.tally(window), &clock.observe(window));
        let script = lowering.lower(window, ledger, clock);
        let drift = coordinates.as_mut().and_then(|coordinates| coordinates.window(window, clock, &script));
        let judged = Judged { contract, resume, window, ledger, clock, coordinates: drift.as_ref() };
        for rule in rules {
            if let Check::Window(check) = rule.check {
                check(&judged, &mut findings);
            }
        }
    }
    findings.into_folded()
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test reads its fixtures")]
fn each_fixture_fires_its_rule_alone() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules");
    let rules: Vec<&Rule> = crate::rules::all().collect();
    let codes = |path: &std::path::Path| -> Vec<String> {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        find_in_manifest(&rules, &text).iter().map(|folded| folded.code.to_string()).collect()
    };
    for rule in crate::rules::all().filter(|rule| matches!(rule.check, Check::Window(_))) {
        if rule.code.as_str() < "GA3" {
            continue;
        }
        let dir = root.join(format!("{}-{}", rule.code, rule.code.name()));
        assert_eq!(codes(&dir.join("good.json")), [] as [String; 0], "{}", dir.display());
        assert_eq!(codes(&dir.join("bad.json")), [rule.code.to_string()], "{}", dir.display());
    }
}

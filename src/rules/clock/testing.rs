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
    let mut findings = Findings::default();
    for window in windows {
        let judged = Judged { contract, resume, window, ledger: &ledger.tally(window), clock: &clock.observe(window) };
        for rule in rules {
            if let Check::Window(check) = rule.check {
                check(&judged, &mut findings);
            }
        }
    }
    findings.into_folded()
}

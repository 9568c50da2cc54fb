//! Runs the family's rules over runs made for tests (`crate::ledger::sample`).
use super::ARITHMETIC;
use crate::clock::Clock;
use crate::finding::Findings;
use crate::finding::Folded;
use crate::finding::Severity;
use crate::ledger::sample::Run;
use crate::rules::Check;
use crate::rules::Judged;

/// The codes that fire, a warning's marked with (w), each with the message of its worst finding.
pub(super) fn judged(run: &Run) -> Vec<(String, String)> {
    let mut findings = Findings::default();
    let mut clock = Clock::new(&run.contract, run.resume.as_ref(), false);
    for (window, ledger) in &run.tallied() {
        let (contract, resume) = (&run.contract, run.resume.as_ref());
        let judged = Judged { contract, resume, window, ledger, clock: &clock.observe(window), coordinates: None };
        for rule in ARITHMETIC {
            if let Check::Window(check) = rule.check {
                check(&judged, &mut findings);
            }
        }
    }
    let code = |folded: &Folded| match folded.severity {
        Severity::Error => folded.code.to_string(),
        Severity::Warning => format!("{} (w)", folded.code),
    };
    findings.into_folded().iter().map(|folded| (code(folded), folded.message.clone())).collect()
}

/// The codes alone.
pub(super) fn codes(run: &Run) -> Vec<String> {
    judged(run).into_iter().map(|(code, _)| code).collect()
}

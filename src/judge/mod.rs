//! The fold over a run: ranks in step, window by window, through ledger, clock and rules to a judgement.
//!
//! Only [`judge`] makes a [`Judgement`], and only at the end of every stream: a result exists only where the whole run
//! was read and was well-formed.
use crate::align::{Aligner, EventStream};
use crate::clock::{Carried, Clock};
use crate::finding::Findings;
use crate::ledger::Ledger;
use crate::manifest::contract::Contract;
use crate::manifest::event::Outcome;
use crate::manifest::resume::Resume;
use crate::rules::{self, Judged};

/// A run as it was declared.
#[derive(Clone, Copy, Debug)]
pub struct Declared<'a> {
    /// The contract, defaults filled in.
    pub contract: &'a Contract,
    /// The carried window that the run continues.
    pub resume: Option<&'a Resume>,
    /// Whether the run still goes on or crashed, so that its open end is left out.
    pub partial: bool,
}

/// What the rules found, and what there is to say of a run that was not rejected.
#[derive(Debug)]
pub struct Judgement {
    findings: Findings,
    facts: Option<Facts>,
}

/// What there is to say of a well-formed run.
#[derive(Clone, Debug)]
pub struct Facts {
    /// T
    pub totals: RunTotals,
    /// Updates that moved the weights.
    pub updates_applied: u64,
    /// Updates that did not.
    pub updates_skipped: u64,
    /// Microbatches of windows that a restore superseded.
    pub superseded: u64,
    /// Where the clocks stand at the end.
    pub clocks: Carried,
}

/// T
#[derive(Clone, Debug, Default)]
pub struct RunTotals {
    /// T
    pub windows: u64,
    /// T
    pub microbatches: u64,
    /// T
    pub valid_targets: u64,
    /// T
    pub loss_sum: crate::numeric::exact::ExactSum,
}

impl Judgement {
    /// Everything found.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Everything found, for keeps.
    pub fn into_findings(self) -> Findings {
        self.findings
    }

    /// What there is to say; `None` where the manifest was rejected.
    pub fn facts(&self) -> Option<&Facts> {
        self.facts.as_ref()
    }
}

/// Judges a run; `observe` is shown every judged window in order, and whether no rule found an error in it. The streams
/// come back for their digests.
pub fn judge<S: EventStream>(
    declared: Declared<'_>,
    streams: Vec<S>,
    mut findings: Findings,
    mut observe: impl FnMut(&Judged<'_>, bool),
) -> (Judgement, Vec<S>) {
    let Declared { contract, resume, partial } = declared;
    let mut aligner = Aligner::new(contract, resume, partial, streams);
    let mut ledger = Ledger::new(contract, resume);
    let mut clock = Clock::new(contract, resume, partial);
    let mut updates = [0, 0];
    let mut totals = RunTotals::default();
    while let Some(window) = aligner.next(&mut findings) {
        if findings.rejects() {
            continue; // nothing is judged any more; the rest is read for its faults
        }
        let (ledger, clock) = (ledger.tally(&window), clock.observe(&window));
        match clock.outcome() {
            Some(Outcome::Applied) => updates[0] += 1,
            Some(Outcome::Skipped) => updates[1] += 1,
            None => {}
        }
        let judged = Judged { contract, resume, window: &window, ledger: &ledger, clock: &clock };
        let before = findings.errors();
        totals.windows += 1;
        totals.microbatches += judged.ledger.microbatches.len() as u64;
        totals.valid_targets += judged.ledger.valid_targets();
        totals.loss_sum.merge(&judged.ledger.loss_sum);
        rules::judge(&judged, &mut findings);
        observe(&judged, findings.errors() == before);
    }
    let facts = Facts {
        totals,
        updates_applied: updates[0],
        updates_skipped: updates[1],
        superseded: aligner.superseded(),
        clocks: clock.carried(),
    };
    let facts = (!findings.rejects()).then_some(facts);
    if facts.is_none() {
        findings.keep_rejecting();
    }
    (Judgement { findings, facts }, aligner.into_streams())
}

/// Reads a run that has no usable contract to its end, for the faults in it.
pub fn reject<S: EventStream>(mut streams: Vec<S>, mut findings: Findings) -> (Judgement, Vec<S>) {
    for stream in &mut streams {
        while stream.next(&mut findings).is_some() {}
    }
    assert!(findings.rejects(), "bug: a run without a contract was not rejected");
    findings.keep_rejecting();
    (Judgement { findings, facts: None }, streams)
}

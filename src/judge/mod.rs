//! The fold over a run: ranks in step, window by window, through ledger, clock and rules to a judgement.
//!
//! Only [`judge`] makes a [`Judgement`], and only at the end of every stream: a result exists only where the whole run
//! was read and was well-formed.
use crate::align::{Aligner, EventStream};
use crate::canonical::Count;
use crate::clock::{Carried, Clock, WindowClock};
use crate::finding::{Code, Finding, Findings, Place};
use crate::ledger::counterexample::CounterexampleReport;
use crate::ledger::diagnosis::DiagnosisReport;
use crate::ledger::evidence::Presence;
use crate::ledger::totals::TotalsReport;
use crate::ledger::{Counterexample, Diagnosis, EvidenceTotals, Ledger, RunTotals, WindowLedger};
use crate::manifest::contract::{Contract, Evidence};
use crate::manifest::event::Outcome;
use crate::manifest::resume::Resume;
use crate::manifest::window::Window;
use crate::replay::{CoordinateDrift, Coordinates, Lowering, Replay, ReplayReport, Request};
use crate::rules::{self, Judged};
use std::collections::BTreeMap;

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
    /// Of all judged windows, carried and dropped ones not.
    pub totals: TotalsReport,
    /// What the verdict rests on.
    pub evidence: BTreeMap<Evidence, Presence>,
    /// Which recipe explains what was recorded.
    pub diagnosis: DiagnosisReport,
    /// What a mean of means would have made of the worst window.
    pub counterexample: CounterexampleReport,
    /// Updates that moved the weights.
    pub updates_applied: u64,
    /// Updates that did not.
    pub updates_skipped: u64,
    /// Microbatches of windows that a restore superseded.
    pub superseded: u64,
    /// Where the clocks stand at the end.
    pub clocks: Carried,
    /// What executing the events came to, where it was asked for.
    pub replay: Option<ReplayReport>,
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
/// come back for their digests. What `replay` asks for is executed once the run was read.
pub fn judge<S: EventStream>(
    declared: Declared<'_>,
    replay: Option<Request<'_>>,
    streams: Vec<S>,
    mut findings: Findings,
    mut observe: impl FnMut(&Judged<'_>, bool),
) -> (Judgement, Vec<S>) {
    let Declared { contract, resume, partial } = declared;
    let mut aligner = Aligner::new(contract, resume, partial, streams);
    let mut fold = Fold::new(declared, replay);
    while let Some(window) = aligner.next(&mut findings) {
        // Of a malformed run nothing is judged any more; the rest is read for its faults.
        if !findings.rejects() {
            fold.window(&window, &mut findings, &mut observe);
        }
    }
    let facts = if findings.rejects() { None } else { fold.finish(aligner.superseded(), &mut findings) };
    if facts.is_none() {
        findings.keep_rejecting();
    }
    (Judgement { findings, facts }, aligner.into_streams())
}

/// What is kept between windows.
struct Fold<'a> {
    declared: Declared<'a>,
    ledger: Ledger,
    clock: Clock,
    totals: RunTotals,
    evidence: EvidenceTotals,
    diagnosis: Diagnosis,
    counterexample: Counterexample,
    updates_applied: u64,
    updates_skipped: u64,
    /// Where anything is executed.
    lowering: Option<Lowering>,
    coordinates: Option<Coordinates>,
    replay: Option<Replay<'a>>,
}

impl<'a> Fold<'a> {
    fn new(declared: Declared<'a>, request: Option<Request<'a>>) -> Self {
        let Declared { contract, resume, partial } = declared;
        let coordinates = Coordinates::new(contract, resume);
        let executes = request.is_some() || coordinates.is_some();
        Fold {
            declared,
            ledger: Ledger::new(contract, resume),
            clock: Clock::new(contract, resume, partial),
            totals: RunTotals::default(),
            evidence: EvidenceTotals::default(),
            diagnosis: Diagnosis::new(contract),
            counterexample: Counterexample::default(),
            updates_applied: 0,
            updates_skipped: 0,
            lowering: executes.then(|| Lowering::new(contract, resume)),
            coordinates,
            replay: request.map(|request| Replay::new(contract, request)),
        }
    }

    fn window(&mut self, window: &Window, findings: &mut Findings, observe: &mut impl FnMut(&Judged<'_>, bool)) {
        let Declared { contract, resume, .. } = self.declared;
        let (ledger, clock) = (self.ledger.tally(window), self.clock.observe(window));
        self.totals.add(&ledger);
        if let Some(finding) = self.beyond_bounds(&ledger, &clock) {
            findings.report(finding);
            return;
        }
        match clock.outcome() {
            Some(Outcome::Applied) => self.updates_applied += 1,
            Some(Outcome::Skipped) => self.updates_skipped += 1,
            None => {}
        }
        self.evidence.add(&ledger);
        self.diagnosis.observe(window, &ledger, clock.is_eligible());
        self.counterexample.add(&ledger);
        let drift = self.execute(window, &ledger, &clock);
        let judged = Judged { contract, resume, window, ledger: &ledger, clock: &clock, coordinates: drift.as_ref() };
        let before = findings.errors();
        rules::judge(&judged, findings);
        observe(&judged, findings.errors() == before);
    }

    /// Follows recorded coordinates through the window, and keeps what the replay may choose.
    fn execute(&mut self, window: &Window, ledger: &WindowLedger, clock: &WindowClock) -> Option<CoordinateDrift> {
        let script = self.lowering.as_mut()?.lower(window, ledger, clock);
        let drift = self.coordinates.as_mut().and_then(|coordinates| coordinates.window(window, clock, &script));
        if let Some(replay) = &mut self.replay {
            replay.window(script);
        }
        drift
    }

    /// Totals that no receipt can hold: GA105 and GA106.
    fn beyond_bounds(&self, ledger: &WindowLedger, clock: &WindowClock) -> Option<Finding> {
        let place = Place::window(ledger.window);
        if ledger.has_unsafe_count() || self.totals.has_unsafe_count() {
            return Some(Finding::new(Code::GA105, place, "the valid targets up to this window are more than 2^53"));
        }
        if ledger.overflows() || self.totals.overflows() {
            let message = "what the records up to this window come to overflows binary64";
            return Some(Finding::new(Code::GA106, place, message));
        }
        if clock.update_index().is_some_and(|update| update >= Count::MAX.get()) {
            return Some(Finding::new(Code::GA105, place, "the updates up to this window are more than 2^53"));
        }
        None
    }

    fn finish(self, superseded: u64, findings: &mut Findings) -> Option<Facts> {
        let totals = self.totals.report()?;
        let replay = self.replay.map(Replay::finish);
        if let Some(trace) = replay.as_ref().and_then(|replay| replay.trace.as_ref()) {
            rules::judge_replay(trace, findings);
        }
        let diagnosis = self.diagnosis.finish();
        Some(Facts {
            totals,
            evidence: self.evidence.presences(),
            counterexample: self.counterexample.report(diagnosis.control),
            diagnosis,
            updates_applied: self.updates_applied,
            updates_skipped: self.updates_skipped,
            superseded,
            clocks: self.clock.carried(),
            replay: replay.map(|replay| replay.report),
        })
    }
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

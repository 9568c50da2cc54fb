//! Which evidence a run holds, kind by kind: what its verdict rests on.
use super::window::WindowLedger;
use crate::manifest::contract::Contract;
use crate::manifest::contract::Evidence;
use crate::manifest::event::Event;
use crate::manifest::window::Window;
use serde::Serialize;
use std::collections::BTreeMap;

/// How much of what could hold a kind of evidence holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// Every finite microbatch, or window, that was stepped or skipped.
    All,
    /// Some.
    Some,
    /// None.
    None,
}

/// Microbatches or windows that hold a kind of evidence, of those that could.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// How many hold it.
    pub held: u64,
    /// How many could.
    pub possible: u64,
}

impl Share {
    /// In one word. Where nothing could hold it, nothing does.
    pub fn presence(self) -> Presence {
        match self.held {
            0 => Presence::None,
            held if held < self.possible => Presence::Some,
            _ => Presence::All,
        }
    }

    fn add(&mut self, held: bool) {
        self.possible += 1;
        self.held += u64::from(held);
    }

    fn merge(&mut self, other: Share) {
        self.held += other.held;
        self.possible += other.possible;
    }
}

/// The evidence of one window, by kind, in the order of [`Evidence::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowEvidence {
    shares: [Share; 8],
    /// Finite microbatches without a count that the declared formula needs.
    pub without_count: u64,
    /// Windows, this one included, that a logged loss can no longer cover: the first of them and how many.
    pub without_loss: Option<(u64, u64)>,
}

impl WindowEvidence {
    /// Of a kind.
    pub fn share(&self, kind: Evidence) -> Share {
        self.shares[kind as usize]
    }

    /// What a window that was stepped or skipped holds. The loss is left out: a later log may still cover it.
    pub fn of(window: &Window, ledger: &WindowLedger, rate_was_set: bool) -> Self {
        let mut evidence = WindowEvidence::default();
        if !ledger.stepped_or_skipped() {
            return evidence;
        }
        let mut has = Recorded::default();
        for rank in &window.ranks {
            for indexed in rank.events.iter().chain(&rank.late) {
                has.add(window.window, &indexed.event, &mut evidence);
            }
        }
        let is_finite = ledger.nonfinite == 0 && !has.skipped;
        evidence.at(Evidence::Denominator).add(has.denominator);
        if is_finite {
            evidence.at(Evidence::Gradient).add(has.gradient);
            evidence.at(Evidence::Norm).add(has.norm);
        }
        evidence.at(Evidence::LearningRate).add(has.rate || rate_was_set);
        evidence.at(Evidence::Parameters).add(has.parameters);
        evidence
    }

    fn at(&mut self, kind: Evidence) -> &mut Share {
        &mut self.shares[kind as usize]
    }
}

/// What some rank recorded in a window.
#[derive(Default)]
struct Recorded {
    denominator: bool,
    gradient: bool,
    norm: bool,
    rate: bool,
    parameters: bool,
    skipped: bool,
}

impl Recorded {
    fn add(&mut self, window: u64, event: &Event, evidence: &mut WindowEvidence) {
        match event {
            Event::Backward(backward) if backward.loss_sum.is_some() => {
                evidence.at(Evidence::Weights).add(backward.backward_loss.is_some());
                evidence.at(Evidence::Gradient).add(backward.gradient_sum.is_some());
                evidence.at(Evidence::Accumulated).add(backward.accumulated.is_some());
            }
            Event::Logged(logged) if logged.window.get() == window => {
                self.denominator |= logged.denominator.is_some();
                self.gradient |= logged.gradient.is_some();
                self.norm |= logged.grad_norm.is_some();
            }
            Event::Clip(clip) => self.norm |= clip.norm.is_some(),
            Event::OptimizerStep(step) => {
                self.rate |= step.learning_rate.is_some();
                self.skipped |= step.outcome == crate::manifest::event::Outcome::Skipped;
            }
            Event::SchedulerStep(_) => self.rate = true,
            Event::Parameters(_) => self.parameters = true,
            _ => {}
        }
    }
}

/// The evidence of a run, kind by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvidenceTotals {
    total: WindowEvidence,
}

impl EvidenceTotals {
    /// Takes in a window.
    pub fn add(&mut self, ledger: &WindowLedger) {
        for (total, share) in self.total.shares.iter_mut().zip(ledger.evidence.shares) {
            total.merge(share);
        }
        let loss = self.total.at(Evidence::Loss);
        if ledger.stepped_or_skipped() && ledger.loss.is_some() {
            loss.add(true);
        }
        if let Some((_, without)) = ledger.evidence.without_loss {
            loss.held = loss.held.saturating_sub(without);
        }
    }

    /// In one word for each kind: what the verdict rests on.
    pub fn presences(&self) -> BTreeMap<Evidence, Presence> {
        Evidence::ALL.iter().map(|&kind| (kind, self.total.share(kind).presence())).collect()
    }
}

/// Which windows a logged loss still has to cover.
#[derive(Clone, Copy, Debug, Default)]
pub struct Coverage {
    /// The windows in a row, up to the latest, that no logged loss has covered: the first and how many.
    open: Option<(u64, u64)>,
}

impl Coverage {
    /// Takes in a window that has a loss, with the widest span of a loss logged about it; gives the windows that no
    /// log will cover any more.
    pub fn add(&mut self, window: u64, span: Option<u64>, is_last: bool) -> Option<(u64, u64)> {
        let (first, count) = self.open.map_or((window, 1), |(first, count)| (first, count + 1));
        match span {
            Some(span) => {
                self.open = None;
                let uncovered = count.saturating_sub(span);
                (uncovered > 0).then_some((first, uncovered))
            }
            None if is_last => {
                self.open = None;
                Some((first, count))
            }
            None => {
                self.open = Some((first, count));
                None
            }
        }
    }

    /// At the end of what a log can cover: a restore, or the end of the run.
    pub fn close(&mut self) -> Option<(u64, u64)> {
        self.open.take()
    }
}

/// Whether a finite microbatch lacks a count that the declared formula needs.
pub fn lacks_count(contract: &Contract, microbatch: &super::microbatch::Microbatch) -> bool {
    use crate::manifest::contract::Formula;
    if !microbatch.is_finite() || microbatch.source.is_none() {
        return false;
    }
    match contract.formula {
        Formula::UnshiftedCount | Formula::RankUnshiftedCount | Formula::UnshiftedWeightedMeans => {
            microbatch.unshifted_targets.is_none()
        }
        Formula::SlotMean => microbatch.slots.is_none(),
        Formula::RowWeighted => microbatch.rows.is_none(),
        _ => false,
    }
}

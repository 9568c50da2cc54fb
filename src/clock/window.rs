//! What the clocks did in one window: everything that the rules about order ask for.
use super::trace::Trace;
use super::updates::Updates;
use crate::finding::Place;
use crate::manifest::contract::Tail;
use crate::manifest::event::Outcome;

/// The clocks of one window over all ranks.
#[derive(Clone, Debug)]
pub struct WindowClock {
    /// The window's index.
    pub window: u64,
    /// K: the microbatches per rank that the contract declares.
    pub declared: u64,
    /// By rank, from 0.
    pub ranks: Vec<RankClock>,
    /// Whether the end of the data left the window with fewer than K.
    pub is_tail: bool,
    /// What became of a tail.
    pub tail: Option<Tail>,
    /// Whether no more windows come.
    pub is_last: bool,
    /// Whether what follows the step was cut off, because the run still goes on or crashed.
    pub is_cut: bool,
}

/// The clocks of one window on one rank.
#[derive(Clone, Debug)]
pub struct RankClock {
    /// The rank.
    pub rank: u64,
    /// Which event stands where.
    pub trace: Trace,
    /// Microbatches of the window, those of the manifest before included.
    pub microbatches: u64,
    /// Whether the window was begun in the manifest before.
    pub is_resumed: bool,
    /// Whether a restore leads to the window.
    pub is_restored: bool,
    /// The updates that a restore claims and those counted, where both are known.
    pub restored: Option<Counter>,
    /// The gradient buffers when the window's first backward added to them.
    pub gradients: Gradients,
    /// Updates before the window.
    pub updates: Updates,
    /// Scheduler ticks since the last step and before this window.
    pub ticks_before: u64,
    /// Epochs that ended within the window's stretch.
    pub epochs_ended: u64,
    /// Whether the epoch under way has a microbatch, when the stretch ends.
    pub epoch_open: bool,
    /// Recorded numbers of updates.
    pub labels: Vec<Label>,
    /// Recorded learning rates.
    pub rates: Vec<Rate>,
    /// Ends of an epoch.
    pub epochs: Vec<EpochEnd>,
    /// Loss scales that changed within the window.
    pub scale_changes: Vec<Sighting>,
    /// Scales divided out that were not those multiplied in.
    pub unscale_mismatches: Vec<Sighting>,
    /// Scales that the declared policy does not explain.
    pub strange_scales: Vec<Sighting>,
}

/// What gradient buffers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gradients {
    /// Nothing: cleared, or new.
    Clean,
    /// Gradients of a window that is still under way or was left unstepped.
    Open,
    /// Gradients that an update or drop has done with.
    Spent,
    /// Whatever a restored or resumed state holds.
    Unknown,
}

/// A count that was recorded and the one that the clock has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Index of the event.
    pub index: u64,
    /// What was recorded.
    pub recorded: u64,
    /// What the clock has.
    pub counted: u64,
}

/// Which event carries a number of updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labelled {
    /// `optimizer_step`.
    Step,
    /// `checkpoint`.
    Checkpoint,
    /// `evaluation`.
    Evaluation,
}

/// A recorded number of updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Index of the event.
    pub index: u64,
    /// Which event.
    pub of: Labelled,
    /// The recorded number.
    pub recorded: u64,
    /// What the contract's counter shows, where that is known.
    pub counted: Option<u64>,
    /// What the counter of the other `on_skip.update` would show.
    pub otherwise: Option<u64>,
    /// Whether the event stands inside the window: between its first backward and its step.
    pub is_inside: bool,
}

/// A recorded learning rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// Index of the event.
    pub index: u64,
    /// Whether a tick set it or a step used it.
    pub is_tick: bool,
    /// The recorded rate.
    pub recorded: f64,
    /// Indices of the schedule that the contract allows here; empty where unknown.
    pub indices: Vec<u64>,
}

/// An end of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEnd {
    /// Index of the event.
    pub index: u64,
    /// Microbatches that the data offered, where recorded.
    pub offered: Option<u64>,
    /// Microbatches seen, where the epoch's beginning is known.
    pub seen: Option<u64>,
}

/// A recorded loss scale that is not the expected one.
#[derive(Clone, Debug, PartialEq)]
pub struct Sighting {
    /// Index of the event.
    pub index: u64,
    /// The field, below the event.
    pub field: &'static str,
    /// The recorded scale.
    pub recorded: f64,
    /// What it could have been.
    pub expected: Vec<f64>,
}

impl WindowClock {
    /// What became of the window: applied if any rank applied it; `None` where no rank stepped.
    pub fn outcome(&self) -> Option<Outcome> {
        let mut outcomes = self.ranks.iter().filter_map(|rank| rank.trace.outcome());
        let first = outcomes.next()?;
        Some(if first == Outcome::Applied || outcomes.any(|o| o == Outcome::Applied) {
            Outcome::Applied
        } else {
            first
        })
    }

    /// Whether the window was stepped or skipped in this run, so that its numbers are judged.
    pub fn is_eligible(&self) -> bool {
        self.outcome().is_some()
    }

    /// How many updates had been applied before this window's, where the window was stepped and that is known.
    pub fn update_index(&self) -> Option<u64> {
        self.outcome()?;
        self.ranks.first()?.updates.applied
    }

    /// Whether every rank has at least K microbatches.
    pub fn is_full(&self) -> bool {
        self.ranks.iter().all(|rank| rank.microbatches >= self.declared)
    }

    /// The place of an event of a rank, in this window.
    pub fn place(&self, rank: &RankClock, index: u64) -> Place {
        Place::event(rank.rank, index).in_window(self.window)
    }

    /// The window as a whole on one rank: its last backward, or the window alone where there is none.
    pub fn place_of(&self, rank: &RankClock) -> Place {
        match rank.trace.backwards.last() {
            Some(tick) => self.place(rank, tick.index),
            None => Place { rank: Some(rank.rank), ..Place::window(self.window) },
        }
    }
}

impl RankClock {
    /// Whether the optimizer was called once at most, so that order within the window has one meaning. Two steps are
    /// GA301's, and what follows from them is not listed again.
    pub fn has_one_meaning(&self) -> bool {
        self.trace.steps.len() <= 1
    }

    /// The window's outcome on this rank.
    pub fn outcome(&self) -> Option<Outcome> {
        self.trace.outcome()
    }
}

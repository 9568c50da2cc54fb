//! What a picture needs of a run and a receipt does not hold: the order of events in some windows, the loss scale in all.
use crate::finding::Code;

/// Read from the manifest again once it is known which windows are worth a picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// The windows whose events are shown, in order.
    pub lanes: Vec<WindowLanes>,
    /// Every window's loss scale, in order.
    pub scales: Vec<ScaleAt>,
}

/// One window's events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowLanes {
    /// The window.
    pub window: u64,
    /// By rank.
    pub ranks: Vec<Lane>,
    /// Ranks that are not shown.
    pub more_ranks: usize,
    /// Faults of the window as a whole.
    pub faults: Vec<Code>,
}

/// One rank's events in a window, in the order in which they happened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lane {
    /// The rank.
    pub rank: u64,
    /// The events.
    pub marks: Vec<Mark>,
    /// Events that are not shown.
    pub more_marks: usize,
    /// Faults of the rank in this window that stand at no event, such as one that is missing.
    pub faults: Vec<Code>,
}

impl Lane {
    /// Whether anything is wrong on this rank.
    pub fn has_faults(&self) -> bool {
        !self.faults.is_empty() || self.marks.iter().any(|mark| !mark.faults.is_empty())
    }
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Its tag in a manifest.
    pub tag: &'static str,
    /// Whether a backward all-reduced, where that was recorded.
    pub synced: Option<bool>,
    /// Whether a step moved no weights, or a number was not finite.
    pub is_skipped: bool,
    /// What is wrong with it.
    pub faults: Vec<Code>,
}

/// The loss scale of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleAt {
    /// The window.
    pub window: u64,
    /// S of its first backward on rank 0, where it was recorded.
    pub scale: Option<f64>,
    /// Whether its update was skipped.
    pub is_skipped: bool,
}

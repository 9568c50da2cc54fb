//! One window's events over all ranks: what ledger, clock and rules are given.
use crate::manifest::event::Backward;
use crate::manifest::event::Event;
use crate::manifest::event::Restore;

/// An event and its index among the rank's events.
#[derive(Clone, Debug, PartialEq)]
pub struct Indexed {
    /// From 0, over the whole stream of the rank.
    pub index: u64,
    /// What happened.
    pub event: Event,
}

/// What one rank recorded of one window: from its first backward to the event before the next window's first.
///
/// The events before the very first backward, and those between a restore and the backward after it, lead the window
/// that follows. `logged` and `parameters` stand in the window in whose stretch they were recorded; a `logged` about an
/// earlier window is moved to that window's end (`late`) as long as it is still open for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankWindow {
    /// The rank.
    pub rank: u64,
    /// The restore that led to this window, which is also the first event.
    pub restore: Option<Restore>,
    /// The events, in order.
    pub events: Vec<Indexed>,
    /// `logged` events about this window that were recorded while a later one was under way.
    pub late: Vec<Indexed>,
}

impl RankWindow {
    /// The window's backward passes in order, with the position among [`RankWindow::events`].
    pub fn backwards(&self) -> impl DoubleEndedIterator<Item = (usize, &Indexed, &Backward)> {
        self.events.iter().enumerate().filter_map(|(position, indexed)| match &indexed.event {
            Event::Backward(backward) => Some((position, indexed, backward)),
            _ => None,
        })
    }
}

/// A window over all ranks, in order of rank; every rank is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// The window's index.
    pub window: u64,
    /// By rank, from 0.
    pub ranks: Vec<RankWindow>,
    /// Whether these are the last records of the run.
    pub is_last: bool,
}

//! The counters of updates, as far as they are known.
//!
//! A recording that begins in the middle of a run does not say how many updates came before it: the first label that it
//! records is then believed, and everything after it is judged.
use crate::manifest::contract::Move;
use crate::manifest::event::Outcome;

/// Updates before the next event; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Updates {
    /// Applied.
    pub applied: Option<u64>,
    /// Skipped.
    pub skipped: Option<u64>,
}

impl Updates {
    /// At the start of training.
    pub const START: Updates = Updates { applied: Some(0), skipped: Some(0) };

    /// What a counter shows that holds on skipped updates or advances with them.
    pub fn counter(&self, on_skip: Move) -> Option<u64> {
        match on_skip {
            Move::Hold => self.applied,
            Move::Advance => Some(self.applied?.saturating_add(self.skipped?)),
        }
    }

    /// The optimizer was called.
    pub fn count(&mut self, outcome: Outcome) {
        let counter = match outcome {
            Outcome::Applied => &mut self.applied,
            Outcome::Skipped => &mut self.skipped,
        };
        *counter = counter.map(|count| count.saturating_add(1));
    }

    /// Believes a recorded label where it alone can say what came before the recording.
    pub fn calibrate(&mut self, recorded: u64, on_skip: Move) {
        match (on_skip, self.applied) {
            (Move::Hold, None) => self.applied = Some(recorded),
            (Move::Advance, None) => *self = Updates { applied: Some(recorded), skipped: Some(0) },
            (Move::Advance, Some(applied)) if self.skipped.is_none() => {
                self.skipped = Some(recorded.saturating_sub(applied));
            }
            _ => {}
        }
    }
}

/// The other policy.
pub(super) fn other(on_skip: Move) -> Move {
    match on_skip {
        Move::Hold => Move::Advance,
        Move::Advance => Move::Hold,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_update_moves_only_the_advancing_counter() {
        let mut updates = Updates::START;
        for outcome in [Outcome::Applied, Outcome::Skipped, Outcome::Applied] {
            updates.count(outcome);
        }
        assert_eq!(updates.counter(Move::Hold), Some(2));
        assert_eq!(updates.counter(Move::Advance), Some(3));
    }

    #[test]
    fn an_unknown_beginning_is_read_off_the_first_label() {
        let mut updates = Updates::default();
        updates.count(Outcome::Applied);
        assert_eq!(updates.counter(Move::Hold), None);
        updates.calibrate(41, Move::Hold);
        updates.calibrate(99, Move::Hold);
        assert_eq!(updates.counter(Move::Hold), Some(41));

        let mut resumed = Updates { applied: Some(10), skipped: None };
        resumed.calibrate(12, Move::Advance);
        assert_eq!(resumed, Updates { applied: Some(10), skipped: Some(2) });
    }
}

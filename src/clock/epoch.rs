//! How far a rank is in its epoch.

/// The epochs of one rank; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Epochs {
    /// Epochs ended so far.
    pub(super) ended: Option<u64>,
    /// Microbatches seen of the present one; unknown where its beginning was not recorded.
    seen: Option<u64>,
    /// Whether it has any: a second end in a row ends nothing.
    begun: bool,
}

impl Epochs {
    /// At the start of training.
    pub(super) const START: Epochs = Epochs { ended: Some(0), seen: Some(0), begun: false };

    /// A microbatch was run.
    pub(super) fn microbatch(&mut self) {
        self.seen = self.seen.map(|seen| seen.saturating_add(1));
        self.begun = true;
    }

    /// The epoch ended. Gives how many microbatches it had, if that is known; `None` too where it had none.
    pub(super) fn end(&mut self) -> Option<u64> {
        if !self.begun {
            return None;
        }
        let seen = self.seen;
        self.ended = self.ended.map(|ended| ended.saturating_add(1));
        self.seen = Some(0);
        self.begun = false;
        seen
    }

    /// Whether the present epoch has any microbatch, so that its end will be one.
    pub(super) fn is_begun(&self) -> bool {
        self.begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_whose_beginning_is_unknown_is_not_counted() {
        let mut epochs = Epochs::default();
        epochs.microbatch();
        assert_eq!(epochs.end(), None);
        epochs.microbatch();
        epochs.microbatch();
        assert_eq!(epochs.end(), Some(2));
        assert_eq!(epochs.ended, None);
    }

    #[test]
    fn two_ends_in_a_row_are_one() {
        let mut epochs = Epochs::START;
        epochs.microbatch();
        assert_eq!(epochs.end(), Some(1));
        assert_eq!(epochs.end(), None);
        assert_eq!(epochs.ended, Some(1));
    }
}

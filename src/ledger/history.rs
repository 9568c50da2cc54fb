//! What later windows need of earlier ones: the count of the window before, and recent losses.
use super::window::WindowLedger;
use crate::manifest::limits::LOGGED_WINDOWS;
use std::collections::VecDeque;

/// The declared losses of the latest windows in a row that were stepped or skipped, and the last N.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    previous_valid_targets: Option<u64>,
    /// The latest last; NaN where a window's loss is not known.
    losses: VecDeque<f64>,
}

impl History {
    /// N of the window before; `None` for the first window and the one that a restore leads to.
    pub(super) fn previous_valid_targets(&self) -> Option<u64> {
        self.previous_valid_targets
    }

    /// Takes in the window that was just tallied.
    pub(super) fn push(&mut self, ledger: &WindowLedger) {
        self.previous_valid_targets = Some(ledger.counts.valid_targets);
        if !ledger.stepped_or_skipped() {
            self.losses.clear();
            return;
        }
        if self.losses.len() as u64 == LOGGED_WINDOWS {
            self.losses.pop_front();
        }
        self.losses.push_back(ledger.loss.unwrap_or(f64::NAN));
    }

    /// Forgets everything: what a restored run had counted before is not known.
    pub(super) fn forget(&mut self) {
        *self = History::default();
    }

    /// The unweighted mean loss of the latest `windows` windows; `None` where one of them is not known.
    pub(super) fn mean_loss(&self, windows: u64) -> Option<f64> {
        let windows = usize::try_from(windows).ok().filter(|&windows| windows > 0)?;
        let first = self.losses.len().checked_sub(windows)?;
        let mut sum = crate::numeric::exact::ExactSum::new();
        for &loss in self.losses.range(first..) {
            if loss.is_nan() {
                return None;
            }
            sum.add(loss);
        }
        Some(sum.over(windows as u64)).filter(|mean| mean.is_finite())
    }
}

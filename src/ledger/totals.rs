//! Totals of a run: exact, so that no partition or order of the same microbatches can be seen in them.
use super::window::End;
use super::window::WindowLedger;
use crate::canonical::Count;
use crate::canonical::Finite;
use crate::manifest::limits::COUNT;
use crate::numeric::exact::ExactSum;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// The totals of all windows but those that were carried out or dropped.
#[derive(Clone, Debug, Default)]
pub struct RunTotals {
    windows: u64,
    microbatches: u64,
    valid_targets: u64,
    loss_sum: ExactSum,
}

/// The receipt's `totals`, as far as they are arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TotalsReport {
    /// Windows.
    pub windows: Count,
    /// Microbatches, carried-in ones included.
    pub microbatches: Count,
    /// Valid targets.
    pub valid_targets: Count,
    /// The sum of all finite loss numerators, in nats, rounded once.
    pub loss_sum: Finite,
}

impl RunTotals {
    /// Takes in a window, unless it was carried out or dropped.
    pub fn add(&mut self, ledger: &WindowLedger) {
        if matches!(ledger.end, End::Carried | End::Dropped) {
            return;
        }
        self.windows += 1;
        self.microbatches += ledger.microbatches.len() as u64;
        self.valid_targets = self.valid_targets.saturating_add(ledger.counts.valid_targets);
        self.loss_sum.merge(&ledger.loss_sum);
    }

    /// Takes in all that another has.
    pub fn merge(&mut self, other: &RunTotals) {
        self.windows += other.windows;
        self.microbatches += other.microbatches;
        self.valid_targets = self.valid_targets.saturating_add(other.valid_targets);
        self.loss_sum.merge(&other.loss_sum);
    }

    /// Whether the targets are more than a count may be (GA105).
    pub fn has_unsafe_count(&self) -> bool {
        self.valid_targets > COUNT || self.microbatches > COUNT
    }

    /// Whether the sum of losses is beyond binary64 (GA106).
    pub fn overflows(&self) -> bool {
        !self.loss_sum.to_f64().is_finite()
    }

    /// As the receipt shows them; `None` where they are refused (GA105, GA106).
    pub fn report(&self) -> Option<TotalsReport> {
        Some(TotalsReport {
            windows: Count::new(self.windows).ok()?,
            microbatches: Count::new(self.microbatches).ok()?,
            valid_targets: Count::new(self.valid_targets).ok()?,
            loss_sum: Finite::new(self.loss_sum.to_f64()).ok()?,
        })
    }
}

impl WindowLedger {
    /// Whether the window's targets are more than a count may be (GA105).
    pub fn has_unsafe_count(&self) -> bool {
        self.counts.valid_targets > COUNT
    }

    /// Whether the window's sum of losses is beyond binary64 (GA106).
    pub fn overflows(&self) -> bool {
        self.overflowed || !self.loss_sum.to_f64().is_finite()
    }
}

//! What the numbers of one window come to.
use super::base::WindowCounts;
use super::delta::Delta;
use super::microbatch::Microbatch;
use super::weights::Weights;
use crate::numeric::exact::ExactSum;

/// What a window's numbers come to, and how what the run claims compares with it.
#[derive(Clone, Debug)]
pub struct WindowLedger {
    /// The window.
    pub window: u64,
    /// N, k and every other count.
    pub counts: WindowCounts,
    /// L: the exact sum of the finite loss numerators, in nats.
    pub loss_sum: ExactSum,
    /// By rank, then backward index; carried ones first.
    pub microbatches: Vec<Microbatch>,
    /// Microbatches whose loss or gradient was not finite.
    pub nonfinite: u64,
    /// Whether the window was carried in from an earlier run.
    pub is_resumed: bool,
    /// How the window ended.
    pub end: End,
    /// L/N, the loss of the window as one batch; `None` where a microbatch is nonfinite, N is 0 or it overflows.
    pub token_mean: Option<f64>,
    /// Σ f·loss_sum / c under the declared formula; `None` also where f is not known.
    pub loss: Option<f64>,
    /// The mean of microbatch means beside it.
    pub mean_of_means: Option<MeanOfMeans>,
    /// The weights seen against the declared ones.
    pub weights: Weights,
    /// What the run claims, by rank and event.
    pub claims: Vec<Claim>,
}

/// How a window ended on the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// No rank stepped, skipped, carried or dropped it.
    Open,
    /// An optimizer step was recorded, applied or skipped, on at least one rank.
    Stepped,
    /// It was carried to a later run.
    Carried,
    /// It was thrown away.
    Dropped,
}

/// The classic wrong loss of a window: (1/(W·k)) Σ loss_sum/n.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanOfMeans {
    /// In nats per target.
    pub loss: f64,
    /// Distance from L/N, in nats per target.
    pub absolute_drift: f64,
    /// The same divided by |L/N|; `None` for a loss of 0 that it is not.
    pub relative_drift: Option<f64>,
}

/// One `logged` event against what the declared formula gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// The rank.
    pub rank: u64,
    /// Index of the event among the rank's.
    pub event: u64,
    /// The loss, where it was logged and can be compared.
    pub loss: Option<Delta>,
    /// Over how many windows the loss was averaged.
    pub windows: u64,
    /// The denominator, where it was logged and can be compared.
    pub denominator: Option<Delta>,
}

impl WindowLedger {
    /// Whether an optimizer step was recorded, applied or skipped: only then is the window judged against recipes.
    pub fn stepped_or_skipped(&self) -> bool {
        self.end == End::Stepped
    }

    /// Whether the window has K microbatches on every rank.
    pub fn is_full(&self) -> bool {
        self.counts.is_full()
    }

    /// N.
    pub fn valid_targets(&self) -> u64 {
        self.counts.valid_targets
    }
}

//! What the numbers of one window come to.
use super::accumulator::BufferState;
use super::base::WindowCounts;
use super::delta::Delta;
use super::evidence::WindowEvidence;
use super::gradient::Gradients;
use super::microbatch::Microbatch;
use super::weights::Weights;
use crate::manifest::resume::ResumedMicrobatch;
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
    /// Σ auxiliary loss / c, in nats; `None` where there is none.
    pub auxiliary: Option<f64>,
    /// Whether a weight or a gradient that follows from finite records is beyond binary64.
    pub overflowed: bool,
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
    /// Gradients, where every microbatch is finite and has a numerator.
    pub gradients: Option<Gradients>,
    /// What the run claims, by rank and event.
    pub claims: Vec<Claim>,
    /// Clipped norms that can be compared, at most one a rank.
    pub clips: Vec<ClipClaim>,
    /// Buffers that did not grow by what was added.
    pub drift: Option<AccumulatorDrift>,
    /// Which evidence the window has.
    pub evidence: WindowEvidence,
    /// What an earlier run carried in, in order of rank and backward.
    pub(super) carried: Vec<ResumedMicrobatch>,
    /// By rank, before the window; empty where no buffer was recorded.
    pub(super) buffers: Vec<BufferState>,
    /// Whether something was logged.
    pub(super) has_logs: bool,
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
    /// The worst element of the gradient, where it was logged and can be compared.
    pub gradient: Option<VectorDelta>,
    /// The norm against that of the gradient, where it was logged and can be compared.
    pub grad_norm: Option<Delta>,
}

/// A recorded vector beside what it should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VectorDelta {
    /// The element that is furthest beyond tolerance, or off by most where all are within.
    pub element: usize,
    /// Recorded and expected there.
    pub delta: Delta,
    /// ‖recorded − expected‖₂ / ‖expected‖₂; infinite where the expected vector is 0.
    pub relative: f64,
}

/// A clipped norm against the gradient's and against the logged one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClipClaim {
    /// The rank.
    pub rank: u64,
    /// Index of the clip event.
    pub event: u64,
    /// Against the norm of the gradient, where that is known.
    pub gradient: Option<Delta>,
    /// Against `logged.grad_norm`, where there is one.
    pub logged: Option<Delta>,
}

/// Buffers that did not grow by what a backward added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccumulatorDrift {
    /// Backwards whose buffers were off.
    pub off: u64,
    /// The first of them, by its place in the ledger.
    pub microbatch: usize,
    /// The element there that is furthest off.
    pub element: usize,
    /// Recorded and expected there, in the buffers' unit.
    pub delta: Delta,
    /// What it looks like.
    pub looks: Looks,
}

/// What a buffer that is off looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looks {
    /// It holds what was added and nothing else.
    Overwritten,
    /// It holds what it held before.
    Unchanged,
    /// What it held, or what was added, is in it twice.
    Doubled,
    /// It was to start from 0 and holds something more.
    CarriedIn,
    /// None of these.
    Otherwise,
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

    /// m: targets and microbatches, the number of terms of the window's loss.
    pub fn terms(&self) -> u64 {
        self.counts.valid_targets.saturating_add(self.microbatches.len() as u64)
    }

    /// N.
    pub fn valid_targets(&self) -> u64 {
        self.counts.valid_targets
    }
}

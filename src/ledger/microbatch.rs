//! One microbatch as the ledger keeps it: a few numbers, no text and no vector.
use crate::canonical::Count;
use crate::canonical::Finite;
use crate::manifest::event::Backward;
use crate::manifest::resume::ResumedMicrobatch;

/// A microbatch of a window. Its name and vectors stay in the event, at `position` among its rank's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Microbatch {
    /// The rank.
    pub rank: u64,
    /// Index among the rank's microbatches of the window, carried ones included.
    pub backward_index: u64,
    /// Where its event is; `None` where it was carried in from an earlier run.
    pub source: Option<Source>,
    /// n.
    pub valid_targets: u64,
    /// The loss numerator, in nats; `None` where it was nonfinite.
    pub loss_sum: Option<f64>,
    /// The token loss on which backward was called, after every later rescale of the window: what should be
    /// loss_sum·f. `None` where it was not recorded or is nonfinite.
    pub differentiated: Option<f64>,
    /// [`Microbatch::seen`], NaN for `None`.
    seen: f64,
    /// The part of the backward loss that is no token loss, after every later rescale, in nats; `None` where there is
    /// none.
    pub auxiliary: Option<f64>,
    /// f, what the declared formula gives it; `None` where that is not known.
    pub declared: Option<f64>,
    /// u.
    pub unshifted_targets: Option<u64>,
    /// Sequences.
    pub rows: Option<u64>,
    /// Label positions before shift and mask.
    pub slots: Option<u64>,
    /// Whether its backward really all-reduced, where that was recorded.
    pub sync: Option<bool>,
}

/// Where a microbatch's event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Among the window's events of the rank.
    pub position: usize,
    /// Among all events of the rank.
    pub event: u64,
}

impl Microbatch {
    /// Takes down a backward pass; `rescaled` is the product of the window's later rescale factors.
    pub fn recorded(rank: u64, backward_index: u64, source: Source, backward: &Backward, rescaled: f64) -> Self {
        let auxiliary = backward.auxiliary_loss.map_or(0.0, Finite::get);
        let differentiated = backward.backward_loss.map(|loss| (loss.get() - auxiliary) * rescaled);
        let differentiated = differentiated.filter(|loss| loss.is_finite() && backward.loss_sum.is_some());
        let valid_targets = backward.valid_targets.get();
        Microbatch {
            rank,
            backward_index,
            source: Some(source),
            valid_targets,
            loss_sum: backward.numerator(),
            differentiated,
            seen: seen(valid_targets, backward.numerator(), differentiated),
            auxiliary: backward.auxiliary_loss.map(|loss| loss.get() * rescaled),
            declared: None,
            unshifted_targets: backward.unshifted_targets.map(Count::get),
            rows: backward.rows.map(Count::get),
            slots: backward.slots.map(Count::get),
            sync: backward.really_synced(),
        }
    }

    /// Takes down a microbatch that an earlier run carried into this window.
    pub fn carried(rank: u64, backward_index: u64, carried: &ResumedMicrobatch) -> Self {
        Microbatch {
            rank,
            backward_index,
            source: None,
            valid_targets: carried.valid_targets.get(),
            loss_sum: Some(carried.loss_sum.get()),
            differentiated: None,
            seen: f64::NAN,
            auxiliary: None,
            declared: None,
            unshifted_targets: None,
            rows: None,
            slots: None,
            sync: None,
        }
    }

    /// Whether loss and gradient are finite.
    pub fn is_finite(&self) -> bool {
        self.loss_sum.is_some()
    }

    /// What multiplied the loss sum in what was differentiated, after every later rescale; `None` where that was not
    /// recorded, or there are no targets or no loss.
    pub fn seen(&self) -> Option<f64> {
        (!self.seen.is_nan()).then_some(self.seen)
    }

    /// As [`Microbatch::seen`], with NaN for `None`: a maximum passes over it.
    #[inline]
    pub(super) fn seen_or_nan(&self) -> f64 {
        self.seen
    }

    /// The mean loss, in nats per target; `None` without targets or where nonfinite.
    #[inline]
    pub fn mean(&self) -> Option<f64> {
        (self.valid_targets > 0).then_some(self.loss_sum? / self.valid_targets as f64)
    }
}

fn seen(valid_targets: u64, loss_sum: Option<f64>, differentiated: Option<f64>) -> f64 {
    let seen = match (loss_sum, differentiated) {
        (Some(loss_sum), Some(differentiated)) if valid_targets > 0 => differentiated / loss_sum,
        _ => f64::NAN,
    };
    if seen.is_finite() { seen } else { f64::NAN }
}

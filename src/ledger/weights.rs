//! The weights that a window's backward losses imply, against the declared ones (MANIFEST.md §5).
use super::microbatch::Microbatch;
use crate::numeric::rounding::Arithmetic;
use crate::numeric::rounding::Explanation;

/// Rounding of our own: seen and expected loss are each off by a few units in the last place.
pub const OWN_ROUNDING: f64 = 8.0 * f64::EPSILON;

/// How a window's weights compare with the declared ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Weights {
    /// Microbatches whose weight was seen and could be compared.
    pub compared: u64,
    /// Those beyond tolerance.
    pub off: u64,
    /// The one that is furthest off.
    pub worst: Option<Deviation>,
    /// Whether all are off by one and the same factor: then it is a denominator, and never rounding.
    pub one_factor: Option<f64>,
    /// What the worst deviation is.
    pub explanation: Option<Explanation>,
    /// Lowest and highest f_seen/f, of microbatches with a loss.
    range: Option<(f64, f64)>,
}

/// A microbatch whose weight is not the declared one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// Index among the window's microbatches.
    pub microbatch: usize,
    /// What was differentiated, in nats: the token loss on which backward ran, after every later rescale.
    pub differentiated: f64,
    /// loss_sum·f.
    pub expected: f64,
    /// |f_seen/f − 1|; infinite where a loss of 0 was given another value.
    pub relative: f64,
}

/// What is compared with what.
#[derive(Clone, Copy, Debug)]
pub struct WeightTolerance {
    /// For |f_seen/f − 1|.
    pub relative: f64,
    /// In nats, where the loss sum is 0.
    pub absolute: f64,
    /// In which the loss was computed.
    pub arithmetic: Arithmetic,
}

impl Weights {
    /// Takes in a microbatch, the `index`-th of the window.
    #[inline]
    pub fn add(&mut self, index: usize, microbatch: &Microbatch, tolerance: WeightTolerance) {
        let (Some(differentiated), Some(loss_sum)) = (microbatch.differentiated, microbatch.loss_sum) else { return };
        if loss_sum == 0.0 {
            self.compared += 1;
            if differentiated.abs() > tolerance.absolute {
                self.deviate(Deviation { microbatch: index, differentiated, expected: 0.0, relative: f64::INFINITY });
            }
            return;
        }
        // One without targets has no weight: GA206 asks that it has no loss either.
        let (Some(declared), true) = (microbatch.declared, microbatch.valid_targets > 0) else { return };
        let expected = loss_sum * declared;
        let ratio = differentiated / expected;
        if ratio.is_nan() {
            return;
        }
        self.compared += 1;
        let (low, high) = self.range.unwrap_or((ratio, ratio));
        self.range = Some((low.min(ratio), high.max(ratio)));
        let relative = (ratio - 1.0).abs();
        if relative > tolerance.relative + OWN_ROUNDING {
            self.deviate(Deviation { microbatch: index, differentiated, expected, relative });
        }
    }

    #[cold]
    fn deviate(&mut self, deviation: Deviation) {
        self.off += 1;
        if self.worst.is_none_or(|worst| deviation.relative > worst.relative) {
            self.worst = Some(deviation);
        }
    }

    /// Says what the deviations are, once the window is complete; `terms` is m, its targets and microbatches.
    pub fn explain(&mut self, terms: u64, tolerance: WeightTolerance) {
        let Some(worst) = self.worst else { return };
        self.one_factor = self.range.and_then(|(low, high)| one_factor(low, high, self.off, self.compared));
        self.explanation = Some(match self.one_factor {
            Some(_) => Explanation::DifferentObjective,
            None => Explanation::of(worst.relative, terms, tolerance.arithmetic, 1.0),
        });
    }
}

/// The factor that all of a window's weights are off by, if they are: `low` and `high` are the least and the greatest
/// f_seen/f, `off` of `compared` are beyond tolerance.
///
/// One weight alone says nothing of that. Two that rounding threw agree to 1 part in 256 of their deviation once in
/// several hundred windows, three or more to 1 part in 64 once in tens of thousands.
pub fn one_factor(low: f64, high: f64, off: u64, compared: u64) -> Option<f64> {
    let share = if compared == 2 { 1.0 / 256.0 } else { 1.0 / 64.0 };
    let least = (low - 1.0).abs().min((high - 1.0).abs());
    let same_side = (low > 1.0) == (high > 1.0);
    (compared > 1 && off == compared && same_side && high - low <= share * least).then_some(low.midpoint(high))
}

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
    /// Lowest and highest f_seen/f of microbatches with a loss, how many those are and how many of them are off.
    ratios: Ratios,
}

/// f_seen/f over a window's microbatches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratios {
    low: f64,
    high: f64,
    off: u64,
    compared: u64,
}

impl Default for Ratios {
    fn default() -> Self {
        Ratios { low: f64::INFINITY, high: f64::NEG_INFINITY, off: 0, compared: 0 }
    }
}

impl Ratios {
    /// Takes in f_seen/f and whether it is beyond tolerance of 1.
    #[inline]
    pub(super) fn add(&mut self, ratio: f64, is_off: bool) {
        self.low = self.low.min(ratio);
        self.high = self.high.max(ratio);
        self.off += u64::from(is_off);
        self.compared += 1;
    }

    /// The factor that all of a window's weights are off by, if they are.
    ///
    /// One weight alone says nothing of that. Two that rounding threw agree to 1 part in 256 of their deviation once in
    /// several hundred windows, three or more to 1 part in 64 once in tens of thousands.
    pub(super) fn one_factor(self) -> Option<f64> {
        let Ratios { low, high, off, compared } = self;
        let share = if compared == 2 { 1.0 / 256.0 } else { 1.0 / 64.0 };
        let least = (low - 1.0).abs().min((high - 1.0).abs());
        let same_side = (low > 1.0) == (high > 1.0);
        (compared > 1 && off == compared && same_side && high - low <= share * least).then_some(low.midpoint(high))
    }
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
        let relative = (ratio - 1.0).abs();
        let is_off = relative > tolerance.relative + OWN_ROUNDING;
        self.ratios.add(ratio, is_off);
        if is_off {
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
        self.one_factor = self.ratios.one_factor();
        self.explanation = Some(match self.one_factor {
            Some(_) => Explanation::DifferentObjective,
            None => Explanation::of(worst.relative, terms, tolerance.arithmetic, 1.0),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_factor(ratios: &[f64]) -> Option<f64> {
        let mut all = Ratios::default();
        ratios.iter().for_each(|&ratio| all.add(ratio, (ratio - 1.0).abs() > 1e-9));
        all.one_factor()
    }

    #[test]
    fn one_factor_takes_two_weights_that_agree_far_better_than_they_are_right() {
        assert_eq!(one_factor(&[0.5, 0.5, 0.5]), Some(0.5));
        assert_eq!(one_factor(&[2.0, 2.0 + 1.0 / 128.0, 2.0]), Some(2.0 + 1.0 / 256.0));
        assert_eq!(one_factor(&[2.0, 2.0 + 1.0 / 128.0]), None);
        assert_eq!(one_factor(&[2.0, 2.0 + 1.0 / 32.0, 2.0]), None);
        assert_eq!(one_factor(&[0.5]), None);
        assert_eq!(one_factor(&[0.5, 1.0, 0.5]), None);
        assert_eq!(one_factor(&[1.0 - 1e-8, 1.0 + 1e-8]), None);
        assert_eq!(one_factor(&[]), None);
    }
}

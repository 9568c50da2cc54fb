//! The contract's tolerance: |x − ref| ≤ absolute + relative·|ref|.
//!
//! Invariant: the comparison is that of real arithmetic. A quick estimate settles what is clear; what is not, at the
//! edge, among subnormals or where the difference overflows, is settled exactly. Nothing nonfinite is ever accepted.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use super::exact::ExactSum;

/// Relative margin by which the estimate must be clear. Its three roundings are off by less than 4·2^-53.
const MARGIN: f64 = 1.0 / (1_u64 << 50) as f64;

/// Bounds that an estimate may settle: below, an underflowing product could reach the margin; above, the bound or the
/// difference could overflow.
const ESTIMATED: RangeInclusive<f64> = 1e-280..=1e300;

/// What a number may differ from its reference by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    absolute: f64,
    relative: f64,
}

impl Tolerance {
    /// A tolerance of `absolute`, in the unit of what is compared, plus `relative` times the reference; `None` if
    /// either is negative or not finite (GA118).
    #[must_use]
    pub fn new(absolute: f64, relative: f64) -> Option<Self> {
        let possible = |value: f64| value.is_finite() && value >= 0.0;
        (possible(absolute) && possible(relative)).then_some(Self { absolute, relative })
    }

    /// The absolute part, in the unit of what is compared.
    #[must_use]
    pub fn absolute(&self) -> f64 {
        self.absolute
    }

    /// The relative part, a pure number.
    #[must_use]
    pub fn relative(&self) -> f64 {
        self.relative
    }

    /// Whether |x − reference| ≤ absolute + relative·|reference|: for losses and recorded vectors.
    #[must_use]
    pub fn accepts(&self, x: f64, reference: f64) -> bool {
        within(x, reference, self.absolute, self.relative)
    }

    /// Whether |x − reference| ≤ relative·|reference|: for norms and learning rates. A reference of 0 takes only 0.
    #[must_use]
    pub fn relative_only(&self, x: f64, reference: f64) -> bool {
        within(x, reference, 0.0, self.relative)
    }

    /// Whether |seen/weight − 1| ≤ relative: for the weight of a microbatch in what is differentiated.
    ///
    /// Decided without the division, as |seen − weight| ≤ relative·|weight|, which is the same, and for a weight of 0
    /// (a recipe that leaves the microbatch out) asks that none was seen.
    #[must_use]
    pub fn accepts_weight(&self, seen: f64, weight: f64) -> bool {
        self.relative_only(seen, weight)
    }
}

fn within(x: f64, reference: f64, absolute: f64, relative: f64) -> bool {
    if !(x.is_finite() && reference.is_finite()) {
        return false;
    }
    let difference = (x - reference).abs();
    let bound = absolute + relative * reference.abs();
    if ESTIMATED.contains(&bound) {
        if difference <= bound * (1.0 - MARGIN) {
            return true;
        }
        if difference > bound * (1.0 + MARGIN) {
            return false;
        }
    }
    difference == 0.0 || within_exactly(x, reference, absolute, relative)
}

/// The sign of |x − reference| − absolute − relative·|reference|, without rounding.
#[cold]
fn within_exactly(x: f64, reference: f64, absolute: f64, relative: f64) -> bool {
    let mut excess = ExactSum::from_iter([x, -reference]);
    if excess.sign() == Ordering::Less {
        excess.negate();
    }
    excess.add(-absolute);
    excess.add_product(-relative, reference.abs());
    excess.sign() != Ordering::Greater
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numeric::oracle;

    fn tolerance(absolute: f64, relative: f64) -> Tolerance {
        Tolerance::new(absolute, relative).expect("a possible tolerance")
    }

    #[test]
    fn impossible_tolerances_are_none() {
        for impossible in [-1e-9, f64::NAN, f64::INFINITY] {
            assert_eq!(Tolerance::new(impossible, 0.0), None);
            assert_eq!(Tolerance::new(0.0, impossible), None);
        }
        assert_eq!((tolerance(1.0, 2.0).absolute(), tolerance(1.0, 2.0).relative()), (1.0, 2.0));
    }

    #[test]
    fn the_edge_is_inside_on_both_sides() {
        let t = tolerance(0.5, 0.25);
        // 0.5 + 0.25·2 = 1
        for reference in [2.0, -2.0] {
            for edge in [reference - 1.0, reference + 1.0] {
                assert!(t.accepts(edge, reference));
            }
        }
        assert!(!t.accepts(3.0_f64.next_up(), 2.0));
        assert!(!t.accepts(1.0_f64.next_down(), 2.0));
    }

    #[test]
    fn the_reference_sets_the_scale_not_the_number() {
        let t = tolerance(0.0, 0.5);
        assert!(t.accepts(1.0, 2.0));
        assert!(!t.accepts(2.0, 1.0));
    }

    #[test]
    fn a_reference_of_zero_leaves_the_absolute_part() {
        let t = tolerance(0.5, 1e300);
        assert!(t.accepts(0.5, 0.0) && t.accepts(-0.5, -0.0));
        assert!(!t.accepts(0.5_f64.next_up(), 0.0));
        assert!(t.relative_only(0.0, 0.0) && t.relative_only(-0.0, 0.0));
        assert!(!t.relative_only(5e-324, 0.0));
    }

    #[test]
    fn no_tolerance_takes_only_the_same() {
        let t = tolerance(0.0, 0.0);
        assert!(t.accepts(f64::MAX, f64::MAX) && t.accepts(5e-324, 5e-324));
        assert!(!t.accepts(1.0_f64.next_up(), 1.0) && !t.accepts(5e-324, 1e-323));
    }

    #[test]
    fn subnormals_are_compared_exactly() {
        // 0.25·2^-1074 rounds to 0 and 0.75·2^-1074 to 2^-1074, either of which would decide wrongly.
        assert!(!tolerance(0.0, 0.75).accepts(1e-323, 5e-324));
        assert!(!tolerance(5e-324, 0.75).accepts(1.5e-323, 5e-324));
        assert!(tolerance(0.0, 0.25).accepts(1.5e-323, 2e-323));
        assert!(!tolerance(0.0, 0.24).accepts(1.5e-323, 2e-323));
        assert!(tolerance(5e-324, 1.0).accepts(1.5e-323, 5e-324));
    }

    #[test]
    fn a_difference_that_overflows_is_still_a_number() {
        // |1e308 − −1e308| = 2e308: beyond 1.9·1e308, within 2·1e308.
        assert!(!tolerance(0.0, 1.9).accepts(1e308, -1e308));
        assert!(tolerance(0.0, 2.0).accepts(1e308, -1e308));
        assert!(tolerance(1.5e308, 1.0).accepts(1e308, -1e308));
        assert!(!tolerance(0.9e308, 1.0).accepts(1e308, -1e308));
        assert!(!tolerance(f64::MAX, 0.0).accepts(f64::MAX, -1.0));
        assert!(tolerance(0.0, f64::MAX).accepts(f64::MIN, 1.0 + f64::EPSILON));
    }

    #[test]
    fn nothing_nonfinite_is_accepted() {
        let t = tolerance(f64::MAX, f64::MAX);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!t.accepts(bad, 1.0) && !t.accepts(1.0, bad) && !t.accepts(bad, bad));
            assert!(!t.relative_only(bad, 1.0) && !t.relative_only(1.0, bad) && !t.relative_only(bad, bad));
            assert!(!t.accepts_weight(bad, 1.0) && !t.accepts_weight(1.0, bad) && !t.accepts_weight(bad, bad));
        }
    }

    #[test]
    fn a_weight_is_compared_as_a_ratio() {
        let t = tolerance(1e9, 0.25);
        assert!(t.accepts_weight(0.125, 0.1) && t.accepts_weight(0.75, 1.0) && t.accepts_weight(1.25, 1.0));
        assert!(!t.accepts_weight(1.25_f64.next_up(), 1.0) && !t.accepts_weight(-1.0, 1.0));
        assert!(t.accepts_weight(0.0, 0.0) && !t.accepts_weight(0.1, 0.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_estimate_agrees_with_the_exact_comparison(
            x in oracle::number(), reference in oracle::number(), absolute in oracle::number(),
            relative in prop_oneof![oracle::number(), 0.0..1.0], near: bool, steps in -3_i64..4,
        ) {
            let (absolute, relative) = (absolute.abs(), relative.abs());
            let bound = absolute + relative * reference.abs();
            let edge = reference + bound;
            let x = if near && edge > 4.0 * f64::MIN_POSITIVE && edge < 1e308 {
                f64::from_bits(edge.to_bits().wrapping_add_signed(steps))
            } else {
                x
            };
            prop_assert_eq!(
                tolerance(absolute, relative).accepts(x, reference),
                within_exactly(x, reference, absolute, relative)
            );
        }
    }
}

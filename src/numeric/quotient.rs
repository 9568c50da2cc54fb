//! Quotients that the ledger reports: each is the correctly rounded exact quotient (MANIFEST.md §5), zero always +0.
//!
//! Invariant: at most one rounding where the definition has one. A mean of quotients rounds each quotient, because the
//! run's own framework does, and then the mean once; everything else rounds once.

use super::exact::ExactSum;
use super::exact::digits::Digits;

/// The binary64 nearest to `numerator / denominator`, for weights such as c/(W·k·n) whose denominators pass 2^53.
///
/// # Panics
///
/// If `denominator` is 0.
#[must_use]
pub fn ratio(numerator: u128, denominator: u128) -> f64 {
    Digits::of_integer(numerator).over(denominator)
}

/// The mean loss of one microbatch: `total / count`, correctly rounded.
///
/// # Panics
///
/// If `count` is 0 or above 2^53: an empty microbatch has no mean, and counts are at most 2^53 (GA105).
#[must_use]
pub fn mean(total: f64, count: u64) -> f64 {
    assert!((1..=1 << 53).contains(&count), "bug: a mean over {count} targets");
    // Both operands are exact, so the division rounds once; adding +0 takes the sign from a zero.
    total / count as f64 + 0.0
}

/// The mean of microbatch means, (Σᵢ totalᵢ/countᵢ)/k: each quotient rounded, their sum exact, the last quotient
/// rounded. `None` where it is not defined: no microbatch, or one without targets.
///
/// ```
/// use receipt::numeric::quotient::mean_of_means;
///
/// assert_eq!(mean_of_means([(1.2, 3), (4.8, 6), (0.4, 1)]), Some(0.5333333333333333));
/// ```
///
/// # Panics
///
/// If a total is not finite or a count is above 2^53.
#[must_use]
pub fn mean_of_means(microbatches: impl IntoIterator<Item = (f64, u64)>) -> Option<f64> {
    let mut sum = ExactSum::new();
    let mut microbatch_count = 0;
    for (total, count) in microbatches {
        if count == 0 {
            return None;
        }
        sum.add(mean(total, count));
        microbatch_count += 1;
    }
    (microbatch_count > 0).then(|| sum.over(microbatch_count))
}

/// The binary64 nearest to `Σ leftᵢ·rightᵢ / count`; ±infinity on overflow.
///
/// # Panics
///
/// If a factor is not finite, `count` is 0, or the lengths differ.
#[must_use]
pub fn dot(left: &[f64], right: &[f64], count: u64) -> f64 {
    assert_eq!(left.len(), right.len(), "bug: a dot product of vectors of different lengths");
    let mut sum = ExactSum::new();
    for (&left, &right) in left.iter().zip(right) {
        sum.add_product(left, right);
    }
    sum.over(count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numeric::oracle::{self, Exact, assert_nearest};

    #[test]
    fn the_means_of_the_example_give_their_mean() {
        let mean = mean_of_means([(1.2, 3), (4.8, 6), (0.4, 1)]).expect("every microbatch has targets");
        assert_eq!(mean.to_bits(), 0.533_333_333_333_333_3_f64.to_bits());
        // The rounded quotients, worked by hand: 1.2/3 and 0.4/1 are 0.4 (up to its last bit), 4.8/6 is 0.8.
        assert_eq!((1.2 / 3.0, 4.8 / 6.0), (0.399_999_999_999_999_97, 0.799_999_999_999_999_9));
        assert_nearest(&Exact::sum(&[1.2 / 3.0, 4.8 / 6.0, 0.4]).over(3), mean);
    }

    #[test]
    fn a_mean_of_means_needs_targets_everywhere() {
        assert_eq!(mean_of_means([]), None);
        assert_eq!(mean_of_means([(1.0, 2), (0.0, 0)]), None);
        assert_eq!(mean_of_means([(f64::MAX, 1), (f64::MAX, 1)]), Some(f64::MAX));
    }

    #[test]
    fn zero_has_no_sign() {
        assert_eq!(mean(-0.0, 3).to_bits(), 0);
        assert_eq!(mean(-5e-324, 3).to_bits(), 0);
        assert_eq!(dot(&[-0.0], &[1.0], 1).to_bits(), 0);
    }

    #[test]
    fn ratios_of_integers() {
        assert_eq!(ratio(1, 3), 1.0 / 3.0);
        assert_eq!(ratio(0, 7), 0.0);
        assert_eq!(ratio((1 << 53) + 1, 1), 9_007_199_254_740_992.0);
        assert_eq!(ratio(u128::MAX, u128::MAX), 1.0);
        assert_eq!(ratio(u128::MAX, 1), 340_282_366_920_938_463_463_374_607_431_768_211_456.0);
    }

    #[test]
    fn a_remainder_alone_breaks_a_tie() {
        // 1 + 2^-53 is midway; 2^-100 more is far below every bit of quotient that is looked at.
        let one = 1 << 100;
        assert_eq!(ratio(one + (1 << 47), one), 1.0);
        assert_eq!(ratio(one + (1 << 47) + 1, one), 1.0 + f64::EPSILON);
    }

    #[test]
    #[should_panic(expected = "bug: a mean over 9007199254740993 targets")]
    fn a_count_beyond_the_limit_is_a_bug() {
        let _ = mean(1.0, (1 << 53) + 1);
    }

    #[test]
    #[should_panic(expected = "bug: a dot product")]
    fn lengths_that_differ_are_a_bug() {
        let _ = dot(&[1.0], &[], 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn ratios_are_correctly_rounded(numerator: u128, denominator in 1_u128.., right in 0_u32..128) {
            let (numerator, denominator) = (numerator >> (127 - right), (denominator >> right).max(1));
            assert_nearest(&Exact::new(numerator, denominator), ratio(numerator, denominator));
        }

        #[test]
        fn means_of_means_round_once_after_their_quotients(
            microbatches in prop::collection::vec((oracle::number(), 1_u64..1 << 53), 1..20)
        ) {
            let quotients: Vec<f64> = microbatches.iter().map(|&(total, count)| {
                let quotient = total / count as f64;
                assert_nearest(&Exact::sum(&[total]).over(count), quotient + 0.0);
                quotient
            }).collect();
            let mean = mean_of_means(microbatches.iter().copied()).expect("every microbatch has targets");
            assert_nearest(&Exact::sum(&quotients).over(quotients.len()), mean);
        }

        #[test]
        fn dot_products_are_correctly_rounded(
            pairs in prop::collection::vec((oracle::number(), oracle::number()), 0..20), count in 1_u64..
        ) {
            let exact = Exact::products(&pairs).over(count);
            let (left, right): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            assert_nearest(&exact, dot(&left, &right, count));
        }
    }
}

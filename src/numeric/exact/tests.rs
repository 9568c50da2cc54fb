//! The exact sum against rational arithmetic, and its carries at their limits.

use proptest::prelude::*;

use super::*;
use crate::numeric::oracle::{self, Exact, assert_nearest};

fn sum(terms: &[f64]) -> ExactSum {
    terms.iter().copied().collect()
}

fn products(pairs: &[(f64, f64)]) -> ExactSum {
    let mut sum = ExactSum::new();
    pairs.iter().for_each(|&(left, right)| sum.add_product(left, right));
    sum
}

#[test]
fn the_losses_of_the_example_give_its_mean() {
    assert_eq!(sum(&[1.2, 4.8, 0.4]).over(10).to_bits(), 0.64_f64.to_bits());
}

#[test]
fn what_is_lost_in_rounding_is_kept_here() {
    assert_eq!(sum(&[1e308, 1e308, -1e308, -1e308, 5e-324]).to_f64(), 5e-324);
    assert_eq!(sum(&[1.0, 1e100, 1.0, -1e100]).to_f64(), 2.0);
    assert_eq!(sum(&[f64::MAX, f64::MAX]).over(2), f64::MAX);
    assert_eq!(sum(&[1.0; 5000]).to_f64(), 5000.0);
    assert_eq!(sum(&[-1.0; 5000]).to_f64(), -5000.0);
}

#[test]
fn ties_go_to_even_unless_anything_is_left() {
    let half = f64::EPSILON / 2.0;
    assert_eq!(sum(&[1.0, half]).to_f64(), 1.0);
    assert_eq!(sum(&[1.0 + f64::EPSILON, half]).to_f64(), 1.0 + 2.0 * f64::EPSILON);
    assert_eq!(sum(&[1.0, half, 5e-324]).to_f64(), 1.0 + f64::EPSILON);
    assert_eq!(sum(&[1.0, half, -5e-324]).to_f64(), 1.0);
    assert_eq!(sum(&[-1.0, -half, -5e-324]).to_f64(), -1.0 - f64::EPSILON);
}

#[test]
fn overflow_is_infinite_from_half_an_ulp_above_the_largest() {
    let half = f64::from_bits((970 + 1023) << 52);
    assert_eq!(sum(&[f64::MAX, half]).to_f64(), f64::INFINITY);
    assert_eq!(sum(&[f64::MAX, half, -5e-324]).to_f64(), f64::MAX);
    assert_eq!(sum(&[f64::MIN, -half]).to_f64(), f64::NEG_INFINITY);
    assert_eq!(sum(&[f64::MAX; 9]).to_f64(), f64::INFINITY);
}

#[test]
fn subnormal_quotients_tie_to_even_and_zero_has_no_sign() {
    assert_eq!(sum(&[5e-324]).over(2).to_bits(), 0);
    assert_eq!(sum(&[-5e-324]).over(2).to_bits(), 0);
    assert_eq!(sum(&[-5e-324]).over(u64::MAX).to_bits(), 0);
    assert_eq!(sum(&[1.5e-323]).over(2), 1e-323);
    assert_eq!(sum(&[1.5e-323, 5e-324, 5e-324]).over(2), 1e-323);
    assert_eq!(sum(&[f64::MIN_POSITIVE]).over(2), f64::MIN_POSITIVE / 2.0);
    assert_eq!(sum(&[0.0, -0.0]).to_f64().to_bits(), 0);
}

#[test]
fn products_reach_both_ends_of_their_range() {
    let tiny = products(&[(5e-324, 5e-324)]);
    assert_eq!((tiny.sign(), tiny.to_f64()), (Ordering::Greater, 0.0));
    let pairs = [(f64::MAX, f64::MAX); 5];
    let huge = products(&pairs);
    assert_eq!(huge.to_f64(), f64::INFINITY);
    assert_nearest(&Exact::products(&pairs).over(u128::MAX), huge.over_u128(u128::MAX));
    let mut both = products(&[(f64::MIN, f64::MAX); 5]);
    both.merge(&huge);
    both.merge(&tiny);
    assert_eq!(both, tiny);
}

#[test]
fn a_sum_stays_exact_over_many_carries() {
    for sign in [1.0, -1.0] {
        let terms = [sign * f64::MAX, sign * 5e-324, sign * 1.75];
        let mut sum = sum(&terms);
        for _ in 0..100 {
            sum.merge(&sum.clone());
            sum.add(-0.25);
            sum.add(0.25);
            assert!(sum.pending < PENDING_LIMIT);
        }
        assert_nearest(&Exact::sum(&terms), sum.over_u128(1 << 100));
        for _ in 0..100 {
            sum.merge(&self::sum(&[-sign * f64::MAX; 2]));
        }
        let mut rest = sum.clone();
        rest.negate();
        sum.merge(&rest);
        assert!(sum.is_zero());
    }
}

#[test]
fn a_term_at_the_limit_carries_first() {
    let bound = (i64::from(PENDING_LIMIT) + 1) << 32;
    for limb in [bound, -bound] {
        let full = ExactSum { limbs: vec![limb; 3], low: 68, pending: PENDING_LIMIT };
        let mut more = full.clone();
        more.add(1.0);
        assert_eq!(more.pending, 1);
        assert!(more.limbs.iter().all(|limb| limb.abs() <= 1 << 32));
        more.add(-1.0);
        assert_eq!(more, full);
        let mut twice = full.clone();
        twice.merge(&full);
        twice.negate();
        twice.merge(&full);
        twice.merge(&full);
        assert!(twice.is_zero(), "{twice:?}");
    }
}

#[test]
fn a_negative_sum_does_not_grow_by_carrying() {
    let mut sum = sum(&[-1.0]);
    for _ in 0..1000 {
        sum.carry();
    }
    assert_eq!((sum.to_f64(), sum.limbs.len()), (-1.0, 3));
}

#[test]
fn a_fresh_sum_holds_nothing_and_zeros_touch_nothing() {
    let mut sum = sum(&[0.0, -0.0]);
    sum.add_product(0.0, f64::MAX);
    assert_eq!(sum.limbs.capacity(), 0);
    assert!(sum.is_zero());
    assert_eq!(sum, ExactSum::new());
    sum.add(3.0);
    sum.clear();
    assert_eq!(sum.to_f64(), 0.0);
    sum.add(1e-300);
    assert_eq!(sum.to_f64(), 1e-300);
    assert_eq!(sum.limbs.len(), 3);
}

#[test]
fn equal_words_in_other_places_are_other_values() {
    assert_ne!(sum(&[1.0]), sum(&[4_294_967_296.0]));
    assert_ne!(sum(&[1.0]), sum(&[-1.0]));
    assert_ne!(sum(&[1.0]), ExactSum::new());
}

#[test]
fn debug_says_whether_the_number_is_all() {
    assert_eq!(format!("{:?}", sum(&[0.5])), "ExactSum(0.5)");
    assert_eq!(format!("{:?}", sum(&[1.0, 1e-300])), "ExactSum(≈ 1.0)");
    assert_eq!(format!("{:?}", sum(&[f64::MAX; 2])), "ExactSum(≈ inf)");
}

#[test]
#[should_panic(expected = "bug: a nonfinite number")]
fn a_nonfinite_term_is_a_bug() {
    ExactSum::new().add(f64::NAN);
}

#[test]
#[should_panic(expected = "bug: a nonfinite number")]
fn a_nonfinite_factor_is_a_bug() {
    ExactSum::new().add_product(0.0, f64::NEG_INFINITY);
}

#[test]
#[should_panic(expected = "bug: an exact sum divided by zero")]
fn division_by_zero_is_a_bug() {
    let _ = ExactSum::new().over(0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn sums_are_correctly_rounded(terms in oracle::terms()) {
        let exact = Exact::sum(&terms);
        let sum = sum(&terms);
        assert_nearest(&exact, sum.to_f64());
        prop_assert_eq!(sum.sign(), exact.sign());
    }

    #[test]
    fn quotients_are_correctly_rounded(terms in oracle::terms(), small in 1_u64..100, shift in 0_u32..121) {
        let (sum, exact) = (sum(&terms), Exact::sum(&terms));
        let count = u128::from(small) << shift;
        for count in [count, count | 1, u128::MAX - count] {
            assert_nearest(&exact.clone().over(count), sum.over_u128(count));
        }
        assert_nearest(&exact.over(small), sum.over(small));
    }

    #[test]
    fn quotients_midway_between_neighbours_go_to_even(value in oracle::number(), count in 1_u64..1 << 53) {
        prop_assume!(value.abs() < f64::MAX);
        // (value + next)·count over 2·count; and then with the least of all products more or less.
        let divisor = u128::from(count) * 2;
        let mut pairs = vec![(value, count as f64), (value.next_up(), count as f64)];
        assert_nearest(&Exact::products(&pairs).over(divisor), products(&pairs).over_u128(divisor));
        for nudge in [5e-324, -5e-324] {
            pairs.push((nudge, 5e-324));
            assert_nearest(&Exact::products(&pairs).over(divisor), products(&pairs).over_u128(divisor));
            pairs.pop();
        }
    }

    #[test]
    fn products_are_exact(pairs in prop::collection::vec((oracle::number(), oracle::number()), 0..24), cancel: bool) {
        let mut pairs = pairs;
        if cancel {
            let negated: Vec<_> = pairs.iter().rev().map(|&(left, right)| (-right, left)).collect();
            pairs.extend(&negated[..negated.len() * 3 / 4]);
        }
        let (sum, exact) = (products(&pairs), Exact::products(&pairs));
        assert_nearest(&exact, sum.to_f64());
        prop_assert_eq!(sum.sign(), exact.sign());
        assert_nearest(&exact.over(u128::MAX), sum.over_u128(u128::MAX));
    }

    #[test]
    fn neither_order_nor_partition_shows(
        (terms, shuffled, parts) in oracle::terms().prop_flat_map(|terms| {
            let parts = prop::collection::vec(0_usize..5, terms.len());
            (Just(terms.clone()), Just(terms).prop_shuffle(), parts)
        })
    ) {
        let whole = sum(&terms);
        let mut partial = vec![ExactSum::new(); 5];
        for (&term, &part) in shuffled.iter().zip(&parts) {
            partial[part].add(term);
        }
        let mut merged = ExactSum::new();
        for part in partial.iter().rev() {
            merged.merge(part);
        }
        prop_assert_eq!(&merged, &whole);
        prop_assert_eq!(merged.to_f64().to_bits(), whole.to_f64().to_bits());
        prop_assert_eq!(merged.over(7).to_bits(), whole.over(7).to_bits());
        merged.add(5e-324);
        prop_assert_ne!(&merged, &whole);
        merged.negate();
        merged.merge(&whole);
        prop_assert_eq!(merged.to_f64(), -5e-324);
    }
}

//! What the tests of this module compare with: rational arithmetic, and rounding by its definition.
//!
//! A candidate is nearest if the exact value lies between the midpoints to both neighbours, and its last bit is even
//! where it lies on one of them. Nothing here shares a line of reasoning with the code under test.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_rational::BigRational;
use proptest::prelude::*;

/// An exact quotient, never reduced: reducing is what makes rational arithmetic slow.
#[derive(Clone, Debug)]
pub(super) struct Exact {
    numerator: BigInt,
    denominator: BigInt,
}

impl Exact {
    pub(super) fn new(numerator: impl Into<BigInt>, denominator: impl Into<BigInt>) -> Self {
        Self { numerator: numerator.into(), denominator: denominator.into() }
    }

    /// The exact sum of finite numbers.
    pub(super) fn sum(terms: &[f64]) -> Self {
        let pairs: Vec<_> = terms.iter().map(|&term| (term, 1.0)).collect();
        Self::products(&pairs)
    }

    /// The exact sum of products of finite numbers.
    pub(super) fn products(pairs: &[(f64, f64)]) -> Self {
        let numerator = pairs.iter().map(|&(left, right)| scaled(left) * scaled(right)).sum();
        Self { numerator, denominator: BigInt::from(1) << (2 * SCALE) }
    }

    pub(super) fn over(self, count: impl Into<BigInt>) -> Self {
        Self { denominator: self.denominator * count.into(), ..self }
    }

    pub(super) fn sign(&self) -> Ordering {
        self.numerator.cmp(&BigInt::ZERO)
    }

    fn abs(self) -> Self {
        if self.numerator < BigInt::ZERO { Self { numerator: -self.numerator, ..self } } else { self }
    }

    /// How it compares with `numerator / 2^(SCALE + 1)`.
    fn cmp_twice_scaled(&self, numerator: BigInt) -> Ordering {
        (&self.numerator << (SCALE + 1)).cmp(&(numerator * &self.denominator))
    }
}

/// Every finite number is a multiple of 2^-SCALE.
const SCALE: u32 = 1074;

/// A finite number times 2^SCALE.
fn scaled(value: f64) -> BigInt {
    let scaled = BigRational::from_float(value).expect("a finite number");
    scaled.numer() * ((BigInt::from(1) << SCALE) / scaled.denom())
}

/// Fails unless `rounded` is the binary64 nearest to `exact`, ties to even, zero without a sign.
pub(super) fn assert_nearest(exact: &Exact, rounded: f64) {
    if rounded == 0.0 {
        assert!(rounded.is_sign_positive(), "a zero with a sign");
    } else {
        assert_eq!(rounded > 0.0, exact.sign() == Ordering::Greater, "{rounded:e} has not the sign of {exact:?}");
    }
    let (exact, rounded) = (exact.clone().abs(), rounded.abs());
    // As if the numbers went on above the largest: its successor is as far from it as its predecessor.
    let beyond: BigInt = scaled(f64::MAX) * 2 - scaled(f64::MAX.next_down());
    let lower = match rounded {
        0.0 => Ordering::Greater,
        f64::INFINITY => exact.cmp_twice_scaled(scaled(f64::MAX) + beyond.clone()),
        _ => exact.cmp_twice_scaled(scaled(rounded.next_down()) + scaled(rounded)),
    };
    let upper = match rounded {
        f64::INFINITY => Ordering::Less,
        f64::MAX => exact.cmp_twice_scaled(scaled(rounded) + beyond),
        _ => exact.cmp_twice_scaled(scaled(rounded) + scaled(rounded.next_up())),
    };
    let even = rounded.to_bits() & 1 == 0;
    assert!(lower == Ordering::Greater || lower == Ordering::Equal && even, "{rounded:e} is too large for {exact:?}");
    assert!(upper == Ordering::Less || upper == Ordering::Equal && even, "{rounded:e} is too small for {exact:?}");
}

/// Finite numbers with a liking for what goes wrong: extremes, subnormals, powers of two, ordinary losses.
pub(super) fn number() -> impl Strategy<Value = f64> {
    let finite = any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |value| value.is_finite());
    let power = (-1074_i32..1024, any::<bool>()).prop_map(|(exponent, negative)| {
        let mut power = 1.0;
        for _ in 0..exponent.abs() {
            power *= if exponent < 0 { 0.5 } else { 2.0 };
        }
        if negative { -power } else { power }
    });
    let special = prop::sample::select(vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        1e308,
        -1e308,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        5e-324,
        -5e-324,
        f64::EPSILON / 2.0,
        1.0 + f64::EPSILON,
    ]);
    let subnormal = (0_u64..1 << 52, any::<bool>())
        .prop_map(|(bits, negative)| if negative { -f64::from_bits(bits) } else { f64::from_bits(bits) });
    prop_oneof![2 => finite, 2 => power, 2 => special, 1 => subnormal, 3 => -1000.0..1000.0]
}

/// Lists of terms in which many cancel, exactly or but for a last bit.
pub(super) fn terms() -> impl Strategy<Value = Vec<f64>> {
    let group = (number(), 0_u8..4).prop_map(|(value, kind)| match kind {
        0 => vec![value, -value],
        1 if value.abs() < f64::MAX => vec![value, -value.next_up()],
        2 => vec![value, value],
        _ => vec![value],
    });
    prop::collection::vec(group, 0..24).prop_map(|groups| groups.concat()).prop_shuffle()
}

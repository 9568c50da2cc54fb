//! The exponential, of one number or of many at once, with the same bits.
//!
//! Softmax over a vocabulary spends most of its time here. The algorithm is FreeBSD's `e_exp.c`, which the `libm` crate has
//! too: reduction by ln 2, a polynomial of degree 5, one division. Two things differ. Nothing branches, so that the
//! compiler can compute several numbers side by side. And 1 + r is added without losing what it rounds off: the
//! largest error that the test below meets is 0.60 units of the last place, and 0.81 with `libm`. Numbers outside ±700
//! (where results overflow or become subnormal), NaN among them, go to `libm`.

use crate::numeric::sum::two_sum;
use crate::numeric::vector::{self, Kernel};

/// Numbers side by side. Of no consequence for the result.
const GROUP: usize = 8;
/// Beyond it `libm` decides.
const LIMIT: f64 = 700.0;

/// The leading 33 bits of ln 2: its multiples by integers up to 2²⁰ are exact.
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
const INVERSE_LN2: f64 = std::f64::consts::LOG2_E;
const P: [f64; 5] = [
    1.666_666_666_666_660_2e-1,
    -2.777_777_777_701_559_3e-3,
    6.613_756_321_437_934e-5,
    -1.653_390_220_546_525_2e-6,
    4.138_136_797_057_238_5e-8,
];
/// Adding and subtracting it rounds to an integer.
const TO_INTEGER: f64 = 6_755_399_441_055_744.0;
/// Its bits plus an integer are the bits of the sum, with room for the exponent's bias.
const BIASED: f64 = 4_503_599_627_370_496.0 + 1023.0;

/// The exponential of one number.
pub(super) fn exp(x: f64) -> f64 {
    if is_ordinary(x) { exp_ordinary(x) } else { libm::exp(x) }
}

/// Replaces every number by its exponential. To be called within a [`crate::numeric::vector::Kernel`].
#[inline(always)]
pub fn exp_all(values: &mut [f64]) {
    let (groups, rest) = values.as_chunks_mut::<GROUP>();
    for group in groups {
        // Not `all`: without an early exit the comparison, too, is made side by side.
        if group.iter().fold(true, |ordinary, x| ordinary & is_ordinary(*x)) {
            group.iter_mut().for_each(|x| *x = exp_ordinary(*x));
        } else {
            group.iter_mut().for_each(|x| *x = exp(*x));
        }
    }
    rest.iter_mut().for_each(|x| *x = exp(*x));
}

/// Writes the logistic function of every `x`, with the bits of [`crate::numeric::math::sigmoid`].
///
/// # Panics
/// Where the slices differ in length, which is a bug of the caller.
pub fn sigmoid_all(x: &[f64], out: &mut [f64]) {
    assert_eq!(x.len(), out.len(), "bug: {} numbers for {}", x.len(), out.len());
    vector::on_widest(Sigmoid { x, out });
}

struct Sigmoid<'a> {
    x: &'a [f64],
    out: &'a mut [f64],
}

impl Kernel for Sigmoid<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const WIDE: bool>(self) {
        self.out.iter_mut().zip(self.x).for_each(|(out, x)| *out = -x);
        exp_all(self.out);
        self.out.iter_mut().for_each(|out| *out = one_over_one_plus(*out));
    }
}

/// 1 / (1 + e) for e ≥ 0. What 1 + e rounds off is put into the quotient, of which it takes `quotient² · lost`.
#[inline(always)]
pub(super) fn one_over_one_plus(e: f64) -> f64 {
    let (sum, lost) = two_sum(1.0, e);
    let quotient = 1.0 / sum;
    let mended = quotient - quotient * (quotient * lost);
    if e < f64::INFINITY { mended } else { quotient }
}

/// Whether the polynomial decides.
#[inline(always)]
fn is_ordinary(x: f64) -> bool {
    x.abs() < LIMIT
}

/// The exponential of an ordinary number: with x = k ln 2 + r, 2ᵏ (1 + r + r c / (2 - c)).
#[inline(always)]
fn exp_ordinary(x: f64) -> f64 {
    let k = (INVERSE_LN2 * x + TO_INTEGER) - TO_INTEGER;
    // The first is exact, and its size is at most half of ln 2.
    let (high, low) = (x - k * LN2_HIGH, k * LN2_LOW);
    let r = high - low;
    let square = r * r;
    let c = r - square * (P[0] + square * (P[1] + square * (P[2] + square * (P[3] + square * P[4]))));
    let correction = r * c / (2.0 - c) - low;
    // What 1 + high rounds off is known exactly (Dekker's fast sum, 1971).
    let sum = 1.0 + high;
    let lost = high - (sum - 1.0);
    (sum + (lost + correction)) * f64::from_bits((k + BIASED).to_bits() << 52)
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;

    use super::*;
    use crate::numeric::math;
    use crate::numeric::random::SplitMix64;

    struct ExpAll<'a>(&'a mut [f64]);

    impl Kernel for ExpAll<'_> {
        type Output = ();

        #[inline(always)]
        fn run<const WIDE: bool>(self) {
            exp_all(self.0);
        }
    }

    fn check(values: &[f64]) {
        for group in values.chunks(3 * GROUP + 1) {
            let mut outputs: [Vec<f64>; 4] = std::array::from_fn(|_| group.to_vec());
            exp_all(&mut outputs[0]);
            let mut others = outputs[1..].iter_mut();
            let units = vector::on_each(|| ExpAll(others.next().unwrap())).len();
            for got in &outputs[..=units] {
                for (got, x) in got.iter().zip(group) {
                    assert_eq!(got.to_bits(), math::exp(*x).to_bits(), "exp({x:e}): {got:e}");
                    // Both err by less than a unit, so they are the same number or neighbours.
                    let other = libm::exp(*x);
                    assert!(
                        got.is_nan() && other.is_nan() || got.to_bits().abs_diff(other.to_bits()) <= 1,
                        "exp({x:e})"
                    );
                }
            }
        }
    }

    #[test]
    fn sigmoids_have_the_bits_of_one_sigmoid() {
        let mut stream = SplitMix64::new(2);
        let x: Vec<f64> = (0..5000).map(|i| f64::from(i % 7 + 1) * 120.0 * stream.symmetric()).collect();
        let mut out = vec![f64::NAN; x.len()];
        sigmoid_all(&x, &mut out);
        for (out, x) in out.iter().zip(&x) {
            assert_eq!(out.to_bits(), math::sigmoid(*x).to_bits(), "sigmoid({x})");
        }
    }

    #[test]
    fn random_numbers_of_every_size() {
        let mut stream = SplitMix64::new(1);
        for scale in [1e-300, 1e-17, 1e-9, 1e-4, 0.1, 0.3, 1.0, 3.0, 30.0, 700.0, 800.0] {
            let values: Vec<f64> = (0..20_000).map(|_| scale * stream.symmetric()).collect();
            check(&values);
        }
    }

    /// Around every number at which the algorithm decides: half-multiples of ln 2 and the limits.
    #[test]
    fn neighbours_of_every_decision() {
        let halves = (-2020..=2020).map(|halves| f64::from(halves) * std::f64::consts::LN_2 / 2.0);
        let others = [0.0, 1e-9, LIMIT, 709.79, 745.2, 1e300];
        let mut values = vec![-0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 5e-324];
        for x in halves.chain(others) {
            let (mut up, mut down) = (x, x);
            for _ in 0..8 {
                values.extend([up, down, -up, -down]);
                (up, down) = (up.next_up(), down.next_down());
            }
        }
        check(&values);
    }

    /// For numbers up to 30 in size more than 200 leading digits are right.
    const DIGITS: usize = 300;

    /// The exponential with [`DIGITS`] binary digits after the point: the series at x / 2⁴⁰, squared 40 times.
    fn digits(x: f64) -> BigInt {
        let scaled = BigInt::from((x * math::power_of_two(53)) as i128) << (DIGITS - 53 - 40);
        let (mut term, mut sum) = (BigInt::from(1) << DIGITS, BigInt::from(1) << DIGITS);
        for n in 1..12 {
            term = ((term * &scaled) >> DIGITS) / n;
            sum += &term;
        }
        (0..40).fold(sum, |root, _| (&root * &root) >> DIGITS)
    }

    /// How far a result is from the exponential, in units of its last place.
    fn units(x: f64, got: f64) -> f64 {
        let unit = got.next_up() - got;
        let scaled = (got / unit) as i128;
        let exponent = (unit.to_bits() >> 52) as i32 - 1023;
        let difference = (BigInt::from(scaled) << 40_usize) - (digits(x) >> (DIGITS as i32 - 40 + exponent));
        f64::from(i32::try_from(difference >> 20_usize).unwrap()) / math::power_of_two(20)
    }

    #[test]
    fn error_is_less_than_six_tenths_of_a_unit() {
        let mut stream = SplitMix64::new(5);
        let (mut worst, mut worst_libm) = (0.0_f64, 0.0_f64);
        for scale in [0.1, 0.35, 1.0, 5.0, 30.0] {
            for _ in 0..2000 {
                // A multiple of 2⁻⁵³, so that the digits start from the number itself.
                let x = (scale * stream.symmetric() * math::power_of_two(53)).round() / math::power_of_two(53);
                worst = worst.max(units(x, math::exp(x)).abs());
                worst_libm = worst_libm.max(units(x, libm::exp(x)).abs());
            }
        }
        assert!(worst < 0.6, "{worst} units");
        // The measure tells the two algorithms apart.
        assert!(worst_libm > 0.75, "libm: {worst_libm} units");
    }
}

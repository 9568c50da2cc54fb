//! Elementary functions whose bits do not depend on the platform.
//!
//! `std` hands `exp` and its kin to the system's library, so two machines may differ in the last bit. These are the
//! `libm` crate's, written in Rust with plain additions and multiplications, but for `exp`, which errs less
//! ([`crate::numeric::exponential`]). `f64::sqrt` needs no place here: IEEE 754
//! rounds it correctly everywhere.

use crate::numeric::exponential;

/// e to the power `x`; infinity above about 709.78, 0 below about -745.13.
#[must_use]
pub fn exp(x: f64) -> f64 {
    exponential::exp(x)
}

/// Natural logarithm; negative infinity at 0, NaN below.
#[must_use]
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// `base` to the power `exponent`.
#[must_use]
pub fn pow(base: f64, exponent: f64) -> f64 {
    libm::pow(base, exponent)
}

/// Sine of `x` radians.
#[must_use]
pub fn sin(x: f64) -> f64 {
    libm::sin(x)
}

/// Cosine of `x` radians.
#[must_use]
pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}

/// The logistic function 1 / (1 + exp(-x)); 0 and 1 in the limits, never NaN for a number.
#[must_use]
pub fn sigmoid(x: f64) -> f64 {
    exponential::one_over_one_plus(exp(-x))
}

/// The power of two `2^exponent`, exactly.
///
/// # Panics
/// Where `exponent` is outside the normal range -1022 ..= 1023, which is a bug of the caller.
#[must_use]
pub fn power_of_two(exponent: i32) -> f64 {
    assert!((-1022..=1023).contains(&exponent), "bug: 2^{exponent} is no normal number");
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits that every platform must give. They are not always the correctly rounded ones.
    #[test]
    fn bits_are_pinned() {
        for (got, want) in [
            (exp(1.0), std::f64::consts::E),
            (exp(-0.5), 0.6065306597126334),
            (exp(10.0), 22026.465794806718),
            (ln(2.0), std::f64::consts::LN_2),
            (ln(266.0), 5.583496308781699),
            (sin(1.0), 0.8414709848078965),
            (cos(1.0), 0.5403023058681398),
            (pow(10000.0, -0.5), 0.01),
            (sigmoid(0.0), 0.5),
        ] {
            assert_eq!(got.to_bits(), f64::to_bits(want), "{got} and {want}");
        }
    }

    #[test]
    fn limits() {
        assert_eq!((sigmoid(-1e6), sigmoid(1e6)), (0.0, 1.0));
        assert_eq!((exp(-1e6), exp(1e6)), (0.0, f64::INFINITY));
        assert_eq!((power_of_two(-1022), power_of_two(0), power_of_two(10)), (f64::MIN_POSITIVE, 1.0, 1024.0));
    }
}

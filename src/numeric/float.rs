//! Rounding of binary64 numbers to narrower formats, to nearest with ties to even, in one step.
//!
//! The engine computes in binary64 and rounds after every primitive, which is what a kernel with a wide accumulator
//! and a narrow result does. Rounding is from binary64 directly: by way of binary32 a tie can be decided twice (the
//! `half` crate 2.7 errs so). Formats: IEEE 754-2019 §3.6 (binary16, binary32); bfloat16 is binary32 with 8 significant bits.

use crate::numeric::math::power_of_two;

/// The arithmetic that is emulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Precision {
    /// binary64: nothing is rounded.
    #[default]
    Float64,
    /// binary32: 24 significant bits.
    Float32,
    /// bfloat16: 8 significant bits, the exponents of binary32.
    Bfloat16,
    /// binary16: 11 significant bits; what rounds beyond 65504 is infinite.
    Float16,
}

/// A format by its significant bits and the exponents of its normal numbers.
struct Format {
    significant_bits: i32,
    least_exponent: i32,
    greatest_exponent: i32,
}

const BFLOAT16: Format = Format { significant_bits: 8, least_exponent: -126, greatest_exponent: 127 };
const FLOAT16: Format = Format { significant_bits: 11, least_exponent: -14, greatest_exponent: 15 };

impl Precision {
    /// Every precision, widest first.
    pub const ALL: [Self; 4] = [Self::Float64, Self::Float32, Self::Bfloat16, Self::Float16];

    /// The value of this format nearest to `x`, ties to even; infinite beyond the greatest finite value's rounding range.
    #[must_use]
    pub fn round(self, x: f64) -> f64 {
        match self {
            Self::Float64 => x,
            Self::Float32 => f64::from(x as f32),
            Self::Bfloat16 => BFLOAT16.round(x),
            Self::Float16 => FLOAT16.round(x),
        }
    }

    /// Rounds every element where it stands.
    pub fn round_all(self, values: &mut [f64]) {
        if self != Self::Float64 {
            values.iter_mut().for_each(|x| *x = self.round(*x));
        }
    }

    /// Half the distance from 1 to the next larger value: the greatest relative rounding error.
    #[must_use]
    pub fn unit_roundoff(self) -> f64 {
        power_of_two(match self {
            Self::Float64 => -53,
            Self::Float32 => -24,
            Self::Bfloat16 => -8,
            Self::Float16 => -11,
        })
    }
}

impl Format {
    fn round(&self, x: f64) -> f64 {
        if !x.is_finite() {
            return x;
        }
        // Subnormal binary64 numbers get exponent -1023 here: below every quantum, so they round to zero as they must.
        let exponent = ((x.to_bits() >> 52) & 0x7FF) as i32 - 1023;
        if exponent > self.greatest_exponent {
            return f64::INFINITY.copysign(x);
        }
        let quantum_exponent = exponent.max(self.least_exponent) - (self.significant_bits - 1);
        // Adding 1.5·2^52 quanta leaves no room for smaller digits, so that the addition itself rounds, ties to even.
        let shift = 1.5 * power_of_two(quantum_exponent + 52);
        let rounded = (x + shift) - shift;
        if rounded.abs() >= power_of_two(self.greatest_exponent + 1) {
            return f64::INFINITY.copysign(x);
        }
        rounded.copysign(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a 16-bit pattern with `fraction` fraction bits and the given exponent bias: the definition, spelled out.
    fn decode(bits: u16, fraction: i32, bias: i32) -> f64 {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let field = (1_u16 << (15 - fraction)) - 1;
        let exponent = (bits >> fraction) & field;
        let significand = f64::from(bits & ((1 << fraction) - 1));
        let unit = power_of_two(-fraction);
        match exponent {
            0 => sign * significand * unit * power_of_two(1 - bias),
            e if e == field && significand == 0.0 => sign * f64::INFINITY,
            e if e == field => f64::NAN,
            e => sign * (1.0 + significand * unit) * power_of_two(i32::from(e) - bias),
        }
    }

    /// Every value is its own rounding; between every two neighbours the tie goes to the even pattern, and one
    /// binary64 step to either side of the tie to the nearer one.
    fn check_every_value(precision: Precision, fraction: i32, bias: i32, infinity: u16) {
        for bits in 0..=u16::MAX {
            let value = decode(bits, fraction, bias);
            let rounded = precision.round(value);
            assert!(rounded.to_bits() == value.to_bits() || (rounded.is_nan() && value.is_nan()), "{bits:#06x}");
        }
        for bits in 0..infinity {
            let low = decode(bits, fraction, bias);
            // The last finite value's upper neighbour, were the exponent unbounded, is where infinity begins.
            let high = if bits + 1 == infinity {
                2.0 * low - decode(bits - 1, fraction, bias)
            } else {
                decode(bits + 1, fraction, bias)
            };
            let to = |x: f64| if bits + 1 == infinity && x == high { f64::INFINITY } else { x };
            let tie = low + (high - low) / 2.0;
            let even = if bits % 2 == 0 { low } else { to(high) };
            for sign in [1.0, -1.0] {
                assert_eq!(precision.round(sign * tie), sign * even, "tie above {bits:#06x}");
                assert_eq!(precision.round(sign * tie.next_down()), sign * low, "below the tie above {bits:#06x}");
                assert_eq!(precision.round(sign * tie.next_up()), sign * to(high), "above the tie above {bits:#06x}");
            }
        }
    }

    #[test]
    fn float16_exhaustively() {
        check_every_value(Precision::Float16, 10, 15, 0x7C00);
    }

    #[test]
    fn bfloat16_exhaustively() {
        check_every_value(Precision::Bfloat16, 7, 127, 0x7F80);
    }

    #[test]
    fn float16_overflows_above_65504() {
        assert_eq!(Precision::Float16.round(65504.0), 65504.0);
        assert_eq!(Precision::Float16.round(65519.99), 65504.0);
        assert_eq!(Precision::Float16.round(65520.0), f64::INFINITY);
        assert_eq!(Precision::Float16.round(-1e300), f64::NEG_INFINITY);
    }

    /// A binary64 number just above a bfloat16 tie that binary32 would round onto the tie: rounding twice gives 1.
    #[test]
    fn rounds_once() {
        let x = 1.0 + power_of_two(-8) + power_of_two(-40);
        assert_eq!(Precision::Bfloat16.round(x), 1.0 + power_of_two(-7));
        assert_eq!(Precision::Bfloat16.round(Precision::Float32.round(x)), 1.0);
    }

    #[test]
    fn float32_is_the_language_cast_and_zero_keeps_its_sign() {
        assert_eq!(Precision::Float32.round(0.1), f64::from(0.1_f32));
        assert_eq!(Precision::Float32.round(1e39), f64::INFINITY);
        for precision in Precision::ALL {
            assert!(precision.round(-0.0).is_sign_negative());
            assert!(precision.round(-f64::MIN_POSITIVE).is_sign_negative());
            assert_eq!(precision.round(1.0 + precision.unit_roundoff()), 1.0, "{precision:?}");
        }
    }

    #[test]
    fn round_all_rounds_each() {
        let mut values = [0.1, 70000.0];
        Precision::Float16.round_all(&mut values);
        assert_eq!(values, [0.0999755859375, f64::INFINITY]);
    }
}

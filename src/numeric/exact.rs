//! The exact sum: a superaccumulator of binary64 terms and of products of two of them.
//!
//! Invariant: the limbs' value `Σ limbs[i] · 2^(GRID + 32·(low + i))` *is* the sum of everything added, to the last
//! bit, so that neither the order of the terms nor how they were split over accumulators that were then merged can
//! be seen in any result. No limb exceeds `(pending + 1) · 2^32` in magnitude; carries run before that reaches 2^63.
//!
//! After R. M. Neal, "Fast exact summation using small and large superaccumulators" (arXiv:1505.05571), with the
//! range widened to products and only the limbs that were touched kept.

use std::cmp::Ordering;
use std::fmt;

use self::digits::Digits;

pub(super) mod digits;
#[cfg(test)]
mod tests;

/// Exponent of the lowest bit that limb 0 holds: the multiple of 32 below 2^-2148, the least product.
const GRID: i32 = -2176;

/// Limbs of the whole range, up to 2^2176: products stay below 2^2048, so 2^127 terms fit.
const LIMBS: usize = 136;

/// Terms after which carries are propagated. Twice this, times the 2^32 of a term's limb, stays below 2^63, so that
/// two accumulators at the limit can still be merged.
const PENDING_LIMIT: u32 = 1 << 29;

/// An exact, mergeable sum of finite binary64 numbers and of products of two such numbers.
///
/// A fresh sum owns no memory, and one holds only the limbs its terms have touched (five or so for terms of similar
/// size). Up to 2^127 terms fit; every result is the correctly rounded exact value, ties to even, zero always +0.
///
/// ```
/// use receipt::numeric::exact::ExactSum;
///
/// let losses: ExactSum = [1.2, 4.8, 0.4].into_iter().collect();
/// assert_eq!(losses.over(10), 0.64);
/// ```
#[derive(Clone, Default)]
pub struct ExactSum {
    /// Signed, redundant: neighbouring limbs overlap until carries are propagated.
    limbs: Vec<i64>,
    /// Position of `limbs[0]` in the whole range.
    low: usize,
    /// Terms added since the carries were last propagated.
    pending: u32,
}

impl ExactSum {
    /// The empty sum, 0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one term.
    ///
    /// # Panics
    ///
    /// If `term` is NaN or infinite: readers refuse those (GA106), so one here is a bug.
    #[inline]
    pub fn add(&mut self, term: f64) {
        let Parts { sign, mantissa, exponent } = Parts::of(term);
        if mantissa == 0 {
            return;
        }
        let (limb, shift) = place(exponent);
        let high = mantissa >> (32 - shift);
        let words = [(mantissa << shift) as u32, high as u32, (high >> 32) as u32];
        for (limb, word) in self.touch::<3>(limb).iter_mut().zip(words) {
            *limb += (i64::from(word) ^ sign) - sign;
        }
    }

    /// Adds the exact product of two factors, also where it is beyond binary64's range.
    ///
    /// # Panics
    ///
    /// If a factor is NaN or infinite: readers refuse those (GA106), so one here is a bug.
    #[inline]
    pub fn add_product(&mut self, left: f64, right: f64) {
        let (left, right) = (Parts::of(left), Parts::of(right));
        let mantissa = u128::from(left.mantissa) * u128::from(right.mantissa);
        if mantissa == 0 {
            return;
        }
        let sign = left.sign ^ right.sign;
        let (limb, shift) = place(left.exponent + right.exponent);
        let high = mantissa >> (32 - shift);
        let words =
            [(mantissa << shift) as u32, high as u32, (high >> 32) as u32, (high >> 64) as u32, (high >> 96) as u32];
        for (limb, word) in self.touch::<5>(limb).iter_mut().zip(words) {
            *limb += (i64::from(word) ^ sign) - sign;
        }
    }

    /// Adds everything that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        if other.limbs.is_empty() {
            return;
        }
        self.cover(other.low, other.limbs.len());
        let start = other.low - self.low;
        for (limb, &theirs) in self.limbs[start..].iter_mut().zip(&other.limbs) {
            *limb += theirs;
        }
        self.pending += other.pending + 1;
        if self.pending >= PENDING_LIMIT {
            self.carry();
        }
    }

    /// Turns the sum into its negative.
    pub fn negate(&mut self) {
        for limb in &mut self.limbs {
            *limb = -*limb;
        }
    }

    /// Makes the sum 0 again, keeping its memory.
    pub fn clear(&mut self) {
        self.limbs.clear();
        self.pending = 0;
    }

    /// Whether the sum is exactly 0.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.sign() == Ordering::Equal
    }

    /// How the sum compares with 0.
    #[must_use]
    pub fn sign(&self) -> Ordering {
        self.digits().sign()
    }

    /// The binary64 nearest to the sum, ties to even; ±infinity from 2^1024 − 2^970 on, for the caller to refuse
    /// (GA106).
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        self.over_u128(1)
    }

    /// The binary64 nearest to the exact quotient of the sum and `count`, ties to even; ±infinity on overflow.
    ///
    /// # Panics
    ///
    /// If `count` is 0: a window without targets is refused (GA113), never divided.
    #[must_use]
    pub fn over(&self, count: u64) -> f64 {
        self.over_u128(u128::from(count))
    }

    /// As [`over`](Self::over), for a product of counts.
    ///
    /// # Panics
    ///
    /// If `count` is 0.
    #[must_use]
    pub fn over_u128(&self, count: u128) -> f64 {
        self.digits().over(count)
    }

    /// Sign and magnitude, carries propagated.
    fn digits(&self) -> Digits {
        Digits::of(&self.limbs, self.low)
    }

    /// Counts one term and lends the `N` limbs from `first` on.
    #[inline]
    fn touch<const N: usize>(&mut self, first: usize) -> &mut [i64; N] {
        if self.pending >= PENDING_LIMIT {
            self.carry();
        }
        self.pending += 1;
        // Below `low` this wraps round to beyond every length.
        if first.wrapping_sub(self.low).saturating_add(N) > self.limbs.len() {
            self.cover(first, N);
        }
        self.limbs[first - self.low..].first_chunk_mut().expect("bug: limbs just covered are missing")
    }

    /// Extends the limbs held to those from `first` to `first + count`.
    #[cold]
    fn cover(&mut self, first: usize, count: usize) {
        if self.limbs.is_empty() {
            self.low = first;
        }
        if first < self.low {
            self.limbs.splice(..0, std::iter::repeat_n(0, self.low - first));
            self.low = first;
        }
        let end = first + count;
        assert!(end <= LIMBS, "bug: an exact sum of more than 2^127 terms");
        if end > self.low + self.limbs.len() {
            self.limbs.resize(end - self.low, 0);
        }
    }

    /// Propagates the carries: every limb but the highest comes to lie in `0 .. 2^32`, the highest within ±2^32.
    #[cold]
    fn carry(&mut self) {
        let mut carry = 0;
        for limb in &mut self.limbs {
            let sum = *limb + carry;
            carry = sum >> 32;
            *limb = sum & 0xFFFF_FFFF;
        }
        match carry {
            0 => {}
            // Back into the highest limb, or a negative sum would grow by a limb at each carry.
            -1 => *self.limbs.last_mut().expect("bug: a carry out of no limbs") -= 1 << 32,
            _ => {
                self.cover(self.low + self.limbs.len(), 1);
                *self.limbs.last_mut().expect("bug: no limb for the carry") = carry;
            }
        }
        self.pending = 0;
    }
}

/// Equal if the values are, whatever the carries inside.
impl PartialEq for ExactSum {
    fn eq(&self, other: &Self) -> bool {
        self.digits() == other.digits()
    }
}

impl Eq for ExactSum {}

/// Shows the value rounded, and whether that is all of it.
impl fmt::Debug for ExactSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = self.to_f64();
        let exact = rounded.is_finite() && *self == Self::from_iter([rounded]);
        write!(f, "ExactSum({}{rounded:?})", if exact { "" } else { "≈ " })
    }
}

impl Extend<f64> for ExactSum {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, terms: I) {
        terms.into_iter().for_each(|term| self.add(term));
    }
}

impl FromIterator<f64> for ExactSum {
    fn from_iter<I: IntoIterator<Item = f64>>(terms: I) -> Self {
        let mut sum = Self::new();
        sum.extend(terms);
        sum
    }
}

/// A finite binary64 taken apart: ±mantissa · 2^exponent.
struct Parts {
    /// 0, or −1 (all ones) for a negative number.
    sign: i64,
    /// Below 2^53.
    mantissa: u64,
    /// −1074 ..= 971.
    exponent: i32,
}

impl Parts {
    #[inline]
    fn of(value: f64) -> Self {
        let bits = value.to_bits();
        let biased = (bits >> 52 & 0x7FF) as i32;
        assert!(biased != 0x7FF, "bug: a nonfinite number reached an exact sum");
        let fraction = bits & ((1 << 52) - 1);
        // Subnormals have the least normal exponent and no implicit bit.
        let implicit = u64::from(biased != 0) << 52;
        Self { sign: bits as i64 >> 63, mantissa: fraction | implicit, exponent: biased.max(1) - 1075 }
    }
}

/// The limb in which 2^exponent lies, and its bit there.
#[inline]
fn place(exponent: i32) -> (usize, u32) {
    let position = (exponent - GRID) as u32;
    ((position / 32) as usize, position % 32)
}

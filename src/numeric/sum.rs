//! Sums, and sums of products, that err by about half a unit of the last place, whatever the number of terms.
//!
//! What an addition rounds off is a binary64 number itself and can be had exactly (Knuth, *The Art of Computer
//! Programming* 2, §4.2.2, theorem B); the parts are added up beside the sum and put in at the end (Ogita, Rump and Oishi,
//! *Accurate sum and dot product*, 2005, algorithm 4.4: the error is half a unit plus about len² ε² Σ|term|). Of a
//! product the leading part takes the place of the term and the others go to what was rounded off: two thirds of the work
//! of Dekker's exact product, for an error of half a unit plus about len 2⁻⁷⁴ Σ|term|. The order of additions is written,
//! and a vector unit can follow it.

/// Partial sums that run side by side. A constant of the result: it may not depend on the CPU.
const LANES: usize = 8;

/// The sum of two numbers, rounded, and what that rounding took from it: exact where nothing overflows, else NaN.
#[inline(always)]
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_in_sum = sum - a;
    (sum, (a - (sum - b_in_sum)) + (b - b_in_sum))
}

/// A number and its two halves: the leading 26 bits and the rest. Products of leading halves are exact.
#[derive(Clone, Copy)]
pub(crate) struct Halves {
    pub(crate) whole: f64,
    pub(crate) high: f64,
    pub(crate) low: f64,
}

impl Halves {
    #[inline(always)]
    pub(crate) fn of(x: f64) -> Self {
        let high = f64::from_bits(x.to_bits() & !0 << 27);
        Self { whole: x, high, low: x - high }
    }
}

/// A sum with what its additions left out put in. Where one of them overflowed, the plain sum.
#[inline(always)]
pub(crate) fn mended(sum: f64, lost: f64) -> f64 {
    let mended = sum + lost;
    if mended.is_nan() { sum } else { mended }
}

/// Adds to a sum, and what that rounds off to `lost`.
#[inline(always)]
fn add(sum: &mut f64, lost: &mut f64, term: f64) {
    let (next, off) = two_sum(*sum, term);
    *sum = next;
    *lost += off;
}

/// Adds the leading part of a product to a sum, and to `lost` the other parts and what the sum rounds off. The
/// parts err by less than 2⁻⁷⁶ |x y|.
#[inline(always)]
pub(crate) fn add_product(sum: &mut f64, lost: &mut f64, x: Halves, y: Halves) {
    let (next, off) = two_sum(*sum, x.high * y.high);
    *sum = next;
    *lost += off + (x.high * y.low + x.low * y.whole);
}

/// The sum of `term(0) … term(len - 1)`. Of whole groups of eight, term i goes to partial sum i mod 8 in ascending order;
/// the partial sums are added one by one, and after them the up to seven terms that are left. Infinite or NaN where the
/// plain sum is.
#[inline(always)]
pub(crate) fn sum(len: usize, term: impl Fn(usize) -> f64) -> f64 {
    let whole = len - len % LANES;
    let (mut total, mut lost) = (0.0, 0.0);
    if whole > 0 {
        let (mut sums, mut losts) = ([0.0; LANES], [0.0; LANES]);
        for start in (0..whole).step_by(LANES) {
            for (lane, (sum, lost)) in sums.iter_mut().zip(&mut losts).enumerate() {
                add(sum, lost, term(start + lane));
            }
        }
        for (partial, of_partial) in sums.into_iter().zip(losts) {
            add(&mut total, &mut lost, partial);
            lost += of_partial;
        }
    }
    (whole..len).for_each(|i| add(&mut total, &mut lost, term(i)));
    mended(total, lost)
}

/// The sum of the rounded products of two equally long slices.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let b = &b[..a.len()];
    sum(a.len(), |i| a[i] * b[i])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::exact::ExactSum;
    use crate::numeric::random::SplitMix64;

    fn exact(terms: &[f64]) -> f64 {
        let mut sum = ExactSum::new();
        terms.iter().for_each(|term| sum.add(*term));
        sum.to_f64()
    }

    #[test]
    fn what_is_rounded_off_comes_back() {
        assert_eq!(two_sum(1e16, 1.0), (1e16, 1.0));
        assert_eq!(two_sum(1.0, 1e16), (1e16, 1.0));
        let terms = [1e16, 1.0, -1e16, 1.0, 1.0, 1e-16, 1.0, 1.0, 1.0, -1e-16];
        for len in 0..=terms.len() {
            assert_eq!(sum(len, |i| terms[i]), exact(&terms[..len]), "{len} terms");
        }
        assert_eq!(dot(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 32.0);
    }

    /// Of numbers of one sign the sum is the exact one, rounded, but for ties within 2⁻⁴⁰ of a unit.
    #[test]
    fn long_sums_are_the_exact_ones_rounded() {
        let mut stream = SplitMix64::new(9);
        let mut plain_differs = 0;
        for len in 1..400 {
            let terms: Vec<f64> = (0..len).map(|_| stream.symmetric().abs()).collect();
            assert_eq!(sum(len, |i| terms[i]), exact(&terms), "{len} terms");
            plain_differs += usize::from(terms.iter().sum::<f64>() != exact(&terms));
        }
        assert!(plain_differs > 200, "the terms are too kind: {plain_differs}");
    }

    #[test]
    fn not_finite_sums_are_the_plain_ones() {
        for len in [1, 7, 8, 9, 30] {
            for at in 0..len {
                let with = |odd: f64| sum(len, |i| if i == at { odd } else { 1.0 });
                assert_eq!(with(f64::INFINITY), f64::INFINITY);
                assert_eq!(with(f64::NEG_INFINITY), f64::NEG_INFINITY);
                assert!(with(f64::NAN).is_nan());
            }
        }
        assert_eq!(sum(2, |_| f64::MAX), f64::INFINITY);
        assert!(dot(&[f64::INFINITY, f64::NEG_INFINITY], &[1.0, 1.0]).is_nan());
    }
}

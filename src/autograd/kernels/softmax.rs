//! Softmax of one row, with the greatest element subtracted first.

use crate::numeric::exponential::exp_all;
use crate::numeric::sum::{dot, sum};
use crate::numeric::vector::{self, Kernel};

/// Turns scores into probabilities where they stand and returns (greatest score, sum of exponentials).
///
/// Without the subtraction a score above 709.78 would overflow. A row with an infinite or NaN score becomes NaN.
pub(in crate::autograd) fn in_place(row: &mut [f64]) -> (f64, f64) {
    vector::on_widest(Softmax(row))
}

struct Softmax<'a>(&'a mut [f64]);

impl Kernel for Softmax<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn run<const WIDE: bool>(self) -> (f64, f64) {
        let row = self.0;
        let greatest = greatest(row);
        row.iter_mut().for_each(|x| *x -= greatest);
        exp_all(row);
        let total = sum(row.len(), |i| row[i]);
        row.iter_mut().for_each(|x| *x /= total);
        (greatest, total)
    }
}

/// The greatest number of a row; NaN is passed over.
#[inline(always)]
fn greatest(row: &[f64]) -> f64 {
    let larger = |a: f64, b: f64| if b > a { b } else { a };
    let (groups, rest) = row.as_chunks::<8>();
    let mut lanes = [f64::NEG_INFINITY; 8];
    for group in groups {
        lanes = std::array::from_fn(|lane| larger(lanes[lane], group[lane]));
    }
    lanes.into_iter().chain(rest.iter().copied()).fold(f64::NEG_INFINITY, larger)
}

/// The Jacobian of softmax, which is symmetric, applied to one vector: p ∘ (v - Σ p v). `v` is read and overwritten.
pub(in crate::autograd) fn apply_jacobian(probabilities: &[f64], v: &mut [f64]) {
    let mean = dot(probabilities, v);
    for (x, p) in v.iter_mut().zip(probabilities) {
        *x = p * (*x - mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_scores_do_not_overflow() {
        let mut row = [1000.0, 1000.0, -1000.0];
        assert_eq!(in_place(&mut row), (1000.0, 2.0));
        assert_eq!(row, [0.5, 0.5, 0.0]);
    }

    #[test]
    fn the_greatest_is_found_wherever_it_stands() {
        for len in 1..20 {
            for at in 0..len {
                let mut row = vec![-1000.0; len];
                row[at] = 7.0;
                assert_eq!(in_place(&mut row), (7.0, 1.0));
                assert_eq!(row[at], 1.0);
            }
        }
    }

    #[test]
    fn nan_shows() {
        let mut row = [0.0, f64::NAN];
        let _ = in_place(&mut row);
        assert!(row.iter().all(|x| x.is_nan()));
        let mut row = [0.0, f64::INFINITY];
        let _ = in_place(&mut row);
        assert!(row[1].is_nan());
    }
}

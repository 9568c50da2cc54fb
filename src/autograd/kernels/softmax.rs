//! Softmax of one row, with the greatest element subtracted first.

use crate::autograd::kernels::reduce;
use crate::numeric::exponential::exp_all;

/// Turns scores into probabilities where they stand and returns (greatest score, sum of exponentials).
///
/// Without the subtraction a score above 709.78 would overflow. A row with an infinite or NaN score becomes NaN.
pub(in crate::autograd) fn in_place(row: &mut [f64]) -> (f64, f64) {
    let greatest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for x in row.iter_mut() {
        *x -= greatest;
    }
    exp_all(row);
    let total = reduce::sum(row.len(), |i| row[i]);
    for x in row.iter_mut() {
        *x /= total;
    }
    (greatest, total)
}

/// The Jacobian of softmax, which is symmetric, applied to one vector: p ∘ (v - Σ p v). `v` is read and overwritten.
pub(in crate::autograd) fn apply_jacobian(probabilities: &[f64], v: &mut [f64]) {
    let mean = reduce::dot(probabilities, v);
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
    fn nan_shows() {
        let mut row = [0.0, f64::NAN];
        let _ = in_place(&mut row);
        assert!(row.iter().all(|x| x.is_nan()));
        let mut row = [0.0, f64::INFINITY];
        let _ = in_place(&mut row);
        assert!(row[1].is_nan());
    }
}

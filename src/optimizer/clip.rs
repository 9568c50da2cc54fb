//! Clipping by the global norm.
//!
//! Source: PyTorch 2.6 `torch.nn.utils.clip_grad_norm_`: the L2 norm over all gradients together, coefficient
//! min(1, max_norm / (norm + 1e-6)). A tied table is one parameter and counts once.

use crate::numeric::sum::sum;

/// What PyTorch adds to the norm before dividing by it.
pub const EPSILON: f64 = 1e-6;

/// The L2 norm of all elements, in one written order of additions. It is infinite only where the norm itself is out of
/// range: where the plain sum of squares would over- or underflow, elements are first scaled by a power of two.
#[must_use]
pub fn global_norm(gradients: &[f64]) -> f64 {
    let squares = sum_of_squares(gradients, 1.0);
    if squares.is_nan() || (1e-280..=f64::MAX).contains(&squares) {
        return squares.sqrt();
    }
    let greatest = gradients.iter().fold(0.0, |greatest: f64, g| greatest.max(g.abs()));
    if greatest == 0.0 || greatest.is_infinite() {
        return greatest;
    }
    let factor = if greatest > 1.0 { f64::from_bits(0x1F7 << 52) } else { f64::from_bits(0x607 << 52) };
    sum_of_squares(gradients, factor).sqrt() / factor
}

fn sum_of_squares(values: &[f64], factor: f64) -> f64 {
    sum(values.len(), |i| {
        let scaled = values[i] * factor;
        scaled * scaled
    })
}

/// What all gradients are multiplied by: min(1, max_norm / (norm + 1e-6)).
#[must_use]
pub fn coefficient(norm: f64, max_norm: f64) -> f64 {
    (max_norm / (norm + EPSILON)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `clip_grad_norm` of the golden file.
    #[test]
    fn known_norm_and_coefficient() {
        let norm = global_norm(&[0.3, -0.4, 1.2]);
        assert_eq!(norm, 1.3);
        let clipped = [0.3, -0.4, 1.2].map(|g| g * coefficient(norm, 1.0));
        for (got, known) in clipped.iter().zip([0.23076905325457442, -0.3076920710060993, 0.9230762130182977]) {
            assert!((got - known).abs() <= 1e-16, "{got}, PyTorch {known}");
        }
        assert_eq!(coefficient(0.5, 1.0), 1.0);
        assert_eq!(coefficient(1.0, 1.0), 1.0 / (1.0 + 1e-6));
        assert_eq!(coefficient(0.0, 1.0), 1.0);
    }

    #[test]
    fn extremes() {
        assert_eq!(global_norm(&[]), 0.0);
        for scale in [1e200, 1e-200, 1e-310] {
            let norm = global_norm(&[3.0 * scale, -4.0 * scale]);
            assert!((norm / (5.0 * scale) - 1.0).abs() < 1e-12, "{norm}");
        }
        assert_eq!(global_norm(&[0.0, -0.0]), 0.0);
        assert_eq!(global_norm(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert_eq!(global_norm(&[1.0, f64::NEG_INFINITY]), f64::INFINITY);
        assert!(global_norm(&[1.0, f64::NAN]).is_nan());
    }

    #[test]
    fn every_element_counts_once() {
        for len in 0..40 {
            assert_eq!(global_norm(&vec![2.0; len * len]), 2.0 * len as f64);
        }
    }
}

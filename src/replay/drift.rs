//! How far one vector lies from another: as a whole, and where most.
use crate::optimizer::clip::global_norm;

/// A vector beside its reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// ‖run − reference‖₂.
    pub l2: f64,
    /// ‖reference‖₂.
    pub reference: f64,
    /// Cosine of the angle between them; `None` where either is 0.
    pub cosine: Option<f64>,
    /// The largest |run − reference|.
    pub maximum_absolute: f64,
    /// The largest |run − reference|/|reference| over the elements whose reference is not 0.
    pub maximum_relative: f64,
    /// The element with the largest absolute difference, counted over all tensors.
    pub element: usize,
}

impl Drift {
    /// Compares element by element.
    ///
    /// # Panics
    /// Where the lengths differ, which is a bug of the caller.
    pub fn between(run: &[f64], reference: &[f64]) -> Self {
        assert_eq!(run.len(), reference.len(), "bug: vectors of two kinds");
        let difference: Vec<f64> = run.iter().zip(reference).map(|(run, reference)| run - reference).collect();
        let (mut maximum_absolute, mut maximum_relative, mut element) = (0.0, 0.0, 0);
        let mut dot = 0.0;
        for (at, ((run, reference), difference)) in run.iter().zip(reference).zip(&difference).enumerate() {
            let absolute = difference.abs();
            if absolute > maximum_absolute {
                (maximum_absolute, element) = (absolute, at);
            }
            if *reference != 0.0 {
                maximum_relative = f64::max(maximum_relative, absolute / reference.abs());
            }
            dot += run * reference;
        }
        let (l2, norm, of_run) = (global_norm(&difference), global_norm(reference), global_norm(run));
        let cosine =
            Some(dot / of_run / norm).filter(|cosine| cosine.is_finite()).map(|cosine| cosine.clamp(-1.0, 1.0));
        Drift { l2, reference: norm, cosine, maximum_absolute, maximum_relative, element }
    }

    /// ‖run − reference‖₂ / ‖reference‖₂; `None` for a reference of 0 that it is not.
    pub fn relative(&self) -> Option<f64> {
        if self.l2 == 0.0 { Some(0.0) } else { Some(self.l2 / self.reference).filter(|relative| relative.is_finite()) }
    }

    /// Whether it lies further off than another.
    pub fn exceeds(&self, other: &Drift) -> bool {
        self.l2 > other.l2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_a_whole_and_where_most() {
        let drift = Drift::between(&[3.0, 4.0, 1.0], &[3.0, 0.0, 0.5]);
        assert_eq!(drift.l2, (16.0_f64 + 0.25).sqrt());
        assert_eq!((drift.maximum_absolute, drift.maximum_relative, drift.element), (4.0, 1.0, 1));
        assert_eq!(drift.reference, (9.25_f64).sqrt());
        assert_eq!(drift.cosine, Some(9.5 / 26.0_f64.sqrt() / 9.25_f64.sqrt()));
    }

    #[test]
    fn no_angle_and_no_ratio_to_nothing() {
        let drift = Drift::between(&[0.0, 1.0], &[0.0, 0.0]);
        assert_eq!((drift.cosine, drift.relative(), drift.maximum_relative), (None, None, 0.0));
        let same = Drift::between(&[0.0, 0.0], &[0.0, 0.0]);
        assert_eq!((same.cosine, same.relative()), (None, Some(0.0)));
        let opposite = Drift::between(&[-1.0], &[1.0]);
        assert_eq!((opposite.cosine, opposite.relative()), (Some(-1.0), Some(2.0)));
    }
}

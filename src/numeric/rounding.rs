//! What rounding can explain: unit roundoffs, the plausible and the worst error of a sum, and the word for a
//! difference beyond tolerance (MANIFEST.md §5).
//!
//! Invariant: rounding is never given as the explanation where it cannot be one, nor a different objective where
//! rounding could be.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The binary floating-point format that a run computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arithmetic {
    /// IEEE 754 binary64.
    Float64,
    /// IEEE 754 binary32.
    Float32,
    /// The upper half of binary32: 8 bits of precision.
    Bfloat16,
    /// IEEE 754 binary16.
    Float16,
}

impl Arithmetic {
    /// All formats, the most precise first.
    pub const ALL: [Self; 4] = [Self::Float64, Self::Float32, Self::Float16, Self::Bfloat16];

    /// The unit roundoff u, half the distance from 1 to the next number: the largest relative error of one rounding
    /// to nearest (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., §2.1).
    #[must_use]
    pub const fn unit_roundoff(self) -> f64 {
        match self {
            Self::Float64 => 1.0 / (1_u64 << 53) as f64,
            Self::Float32 => 1.0 / (1_u64 << 24) as f64,
            Self::Bfloat16 => 1.0 / (1_u64 << 8) as f64,
            Self::Float16 => 1.0 / (1_u64 << 11) as f64,
        }
    }
}

/// The error that rounding plausibly makes in a mean over `terms` additions: 8·√m·u·Σ|terms|/N.
///
/// Roundings that are independent with mean zero make an error that grows with √m (Higham and Mary, "A new approach
/// to probabilistic rounding error analysis", 2019); 8 allows for bad luck. `magnitude` is Σ|terms|/N, and the result
/// has its unit; with 1 it is relative.
#[must_use]
pub fn plausible_bound(terms: u64, arithmetic: Arithmetic, magnitude: f64) -> f64 {
    8.0 * (terms as f64).sqrt() * arithmetic.unit_roundoff() * magnitude
}

/// γₘ = m·u/(1 − m·u), the largest relative error of m roundings in any order (Higham, Lemma 3.1); `None` where
/// m·u ≥ 1 and there is no bound.
#[must_use]
pub fn worst_case(terms: u64, arithmetic: Arithmetic) -> Option<f64> {
    let product = terms as f64 * arithmetic.unit_roundoff();
    (product < 1.0).then(|| product / (1.0 - product))
}

/// What a difference beyond tolerance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Explanation {
    /// Rounding could plausibly do it.
    Perturbation,
    /// Rounding could do it, but only by conspiring.
    UnlikelyRounding,
    /// No rounding can do it: something else was computed.
    DifferentObjective,
    /// So many roundings in so short a format that no worst case bounds them.
    Undecidable,
}

impl Explanation {
    /// Explains a `difference` of a mean over `terms` (targets and microbatches) computed in `arithmetic`, whose
    /// `magnitude` is Σ|terms|/N in the difference's unit.
    ///
    /// For fewer than 64 terms the plausible bound lies above the worst case, because it also allows for the
    /// roundings of the terms themselves and of what was logged; the plausible bound then decides. A difference that
    /// is NaN, or a magnitude that is not finite, leaves nothing to compare: undecidable.
    #[must_use]
    pub fn of(difference: f64, terms: u64, arithmetic: Arithmetic, magnitude: f64) -> Self {
        let (difference, magnitude) = (difference.abs(), magnitude.abs());
        if difference.is_nan() || !magnitude.is_finite() {
            return Self::Undecidable;
        }
        if difference <= plausible_bound(terms, arithmetic, magnitude) {
            return Self::Perturbation;
        }
        match worst_case(terms, arithmetic) {
            None => Self::Undecidable,
            Some(gamma) if difference <= gamma * magnitude => Self::UnlikelyRounding,
            Some(_) => Self::DifferentObjective,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_roundoffs_are_half_an_ulp_of_one() {
        assert_eq!(Arithmetic::Float64.unit_roundoff(), f64::EPSILON / 2.0);
        assert_eq!(Arithmetic::Float32.unit_roundoff(), f64::from(f32::EPSILON) / 2.0);
        assert_eq!(Arithmetic::Bfloat16.unit_roundoff(), 0.003_906_25);
        assert_eq!(Arithmetic::Float16.unit_roundoff(), 0.000_488_281_25);
        assert!(Arithmetic::ALL.is_sorted_by(|a, b| a.unit_roundoff() < b.unit_roundoff()));
    }

    #[test]
    fn names_are_those_of_the_manifest() {
        let names = serde_json::to_value(Arithmetic::ALL).expect("names");
        assert_eq!(names, serde_json::json!(["float64", "float32", "float16", "bfloat16"]));
        for arithmetic in Arithmetic::ALL {
            let name = serde_json::to_string(&arithmetic).expect("a name");
            assert_eq!(serde_json::from_str::<Arithmetic>(&name).expect("the same name"), arithmetic);
        }
        let unlikely = serde_json::to_value(Explanation::UnlikelyRounding).expect("a name");
        assert_eq!(unlikely, "unlikely-rounding");
    }

    #[test]
    fn bounds_worked_by_hand() {
        // 8·√16·2^-8·2 = 32/256·2
        assert_eq!(plausible_bound(16, Arithmetic::Bfloat16, 2.0), 0.25);
        // 64/256 / (1 − 64/256)
        assert_eq!(worst_case(64, Arithmetic::Bfloat16), Some(1.0 / 3.0));
        assert_eq!(worst_case(255, Arithmetic::Bfloat16), Some(255.0));
        assert_eq!(worst_case(256, Arithmetic::Bfloat16), None);
        assert_eq!(worst_case(0, Arithmetic::Float16), Some(0.0));
        assert_eq!(worst_case(1 << 24, Arithmetic::Float32), None);
    }

    #[test]
    fn each_explanation_begins_where_the_one_before_ends() {
        use Explanation::{DifferentObjective, Perturbation, Undecidable, UnlikelyRounding};
        // m = 1024 in float16: plausible 8·32/2048 = 1/8, worst 0.5/(1 − 0.5) = 1, times a magnitude of 4.
        let of = |difference: f64| Explanation::of(difference, 1024, Arithmetic::Float16, 4.0);
        assert_eq!(of(0.5), Perturbation);
        assert_eq!(of(-0.5), Perturbation);
        assert_eq!(of(0.5_f64.next_up()), UnlikelyRounding);
        assert_eq!(of(-4.0), UnlikelyRounding);
        assert_eq!(of(4.0_f64.next_up()), DifferentObjective);
        assert_eq!(of(f64::INFINITY), DifferentObjective);
        // m·u = 1: 8·√2048/2048 ≈ 0.177 is still plausible, more is undecidable.
        assert_eq!(Explanation::of(0.17, 2048, Arithmetic::Float16, 1.0), Perturbation);
        assert_eq!(Explanation::of(0.18, 2048, Arithmetic::Float16, 1.0), Undecidable);
        // Below 64 terms there is nothing in between.
        assert_eq!(Explanation::of(6.0 / 256.0, 9, Arithmetic::Float16, 1.0), DifferentObjective);
        assert_eq!(Explanation::of(3.0 / 256.0, 9, Arithmetic::Float16, 1.0), Perturbation);
    }

    #[test]
    fn nothing_is_made_of_what_is_not_finite() {
        assert_eq!(Explanation::of(f64::NAN, 1, Arithmetic::Float64, 1.0), Explanation::Undecidable);
        assert_eq!(Explanation::of(1.0, 1, Arithmetic::Float64, f64::INFINITY), Explanation::Undecidable);
        assert_eq!(Explanation::of(0.0, 0, Arithmetic::Float64, 0.0), Explanation::Perturbation);
        assert_eq!(Explanation::of(5e-324, 3, Arithmetic::Float64, 0.0), Explanation::DifferentObjective);
    }
}

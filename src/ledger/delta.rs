//! A recorded number beside what it should be.
use crate::numeric::rounding::Explanation;

/// A recorded number beside what the declared formula gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delta {
    /// What the run recorded.
    pub recorded: f64,
    /// What the formula gives.
    pub expected: f64,
    /// `None` within tolerance; else what the difference is.
    pub explanation: Option<Explanation>,
}

impl Delta {
    /// Whether the two agree within tolerance.
    pub fn agrees(&self) -> bool {
        self.explanation.is_none()
    }

    /// |recorded − expected| / |expected|; infinite where only the expected number is 0. Never NaN.
    pub fn relative(&self) -> f64 {
        relative(self.recorded - self.expected, self.expected)
    }
}

/// |difference| / |reference|: 0 without a difference, infinite where there is no telling.
pub fn relative(difference: f64, reference: f64) -> f64 {
    if difference == 0.0 {
        return 0.0;
    }
    let relative = difference.abs() / reference.abs();
    if relative.is_nan() { f64::INFINITY } else { relative }
}

/// What a difference is called in a message.
pub fn words(explanation: Explanation) -> &'static str {
    match explanation {
        Explanation::Perturbation => "a perturbation: rounding could do it",
        Explanation::UnlikelyRounding => "unlikely to be rounding",
        Explanation::DifferentObjective => "a different objective: no rounding can do it",
        Explanation::Undecidable => "undecidable: this precision has no bound over so many targets",
    }
}

//! What a rule says: a finding is data about the user's manifest, never an error of ours.
mod causes;
mod code;
mod fold;
mod place;

pub use causes::in_order;
pub use code::{CODES, Code};
pub use fold::{Findings, Folded};
pub use place::Place;

use serde::{Deserialize, Serialize};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The run is violated, or the manifest rejected.
    Error,
    /// Worth knowing; changes no exit code.
    Warning,
}

/// One fault, at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule's code.
    pub code: Code,
    /// The code's own severity unless the rule says otherwise.
    pub severity: Severity,
    /// What is wrong, with the numbers. Identifiers stand in it as they are: whoever shows it escapes it.
    pub message: String,
    /// Where.
    pub place: Place,
    /// How far from right, for putting the worst first; 0 where a fault has no size.
    pub magnitude: f64,
}

impl Finding {
    /// A finding with the severity that its code has by default.
    pub fn new(code: Code, place: Place, message: impl Into<String>) -> Self {
        Finding { code, severity: code.severity(), message: message.into(), place, magnitude: 0.0 }
    }

    /// The same finding with another severity.
    pub fn with_severity(self, severity: Severity) -> Self {
        Finding { severity, ..self }
    }

    /// The same finding with its size, by which the worst of many is chosen. Dimensionless, larger is worse; not NaN.
    pub fn with_magnitude(self, magnitude: f64) -> Self {
        assert!(!magnitude.is_nan(), "bug: a finding's magnitude is NaN");
        Finding { magnitude, ..self }
    }
}

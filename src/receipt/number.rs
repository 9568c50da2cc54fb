//! Numbers on their way into the receipt, where all are finite and counts exact.
use crate::canonical::{Count, Finite};

/// A count. What was read is far below 2^53, totals above it were refused (GA105), and a clock that the manifest itself
/// set to the limit stays there.
pub(super) fn count(value: u64) -> Count {
    Count::saturating(value)
}

/// A real, or null where it is none.
pub(super) fn finite(value: f64) -> Option<Finite> {
    Finite::new(value).ok()
}

/// A vector, or null where any of it is not finite.
pub(super) fn vector(values: &[f64]) -> Option<Vec<Finite>> {
    values.iter().map(|&value| finite(value)).collect()
}

//! Numbers on their way into the receipt, where all are finite and counts exact.
use crate::canonical::{Count, Finite};

/// A count of something that was read, which is far below 2^53 because it was.
pub(super) fn count(value: u64) -> Count {
    Count::new(value).expect("bug: a count of what was read is above 2^53")
}

/// A real, or null where it is none.
pub(super) fn finite(value: f64) -> Option<Finite> {
    Finite::new(value).ok()
}

/// A vector, or null where any of it is not finite.
pub(super) fn vector(values: &[f64]) -> Option<Vec<Finite>> {
    values.iter().map(|&value| finite(value)).collect()
}

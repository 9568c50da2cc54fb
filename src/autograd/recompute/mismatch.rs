//! Why a recompute is refused.

use crate::numeric::float::Precision;

/// A segment run again would not be, or was not, what it was in the forward. No gradient was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// The arithmetic changed.
    #[error("recomputed in {now:?} what the forward computed in {forward:?}")]
    Precision {
        /// In the forward.
        forward: Precision,
        /// In the reverse sweep.
        now: Precision,
    },
    /// A parameter's elements changed.
    #[error("parameter {parameter} is not what it was in the forward")]
    Parameter {
        /// Its name.
        parameter: String,
    },
    /// The output differs in at least one bit.
    #[error(
        "recomputed output of node {node} differs at element {element}: {} in the forward, {} again",
        f64::from_bits(*forward),
        f64::from_bits(*again)
    )]
    Output {
        /// The segment's node on the tape.
        node: usize,
        /// The first element that differs.
        element: usize,
        /// Its bits in the forward.
        forward: u64,
        /// Its bits now.
        again: u64,
    },
}

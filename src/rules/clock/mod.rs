//! Rules over the update clock: GA3xx.
use super::Rule;

/// In order of code.
pub static CLOCK: &[&Rule] = &[];

//! Rules over loss scaling and clipping: GA5xx.
use super::Rule;

/// In order of code.
pub static PRECISION: &[&Rule] = &[];

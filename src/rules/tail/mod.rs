//! Rules over tails and resumption: GA6xx.
use super::Rule;

/// In order of code.
pub static TAIL: &[&Rule] = &[];

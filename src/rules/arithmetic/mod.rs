//! Rules over the exact ledger: GA2xx.
use super::Rule;

/// In order of code.
pub static ARITHMETIC: &[&Rule] = &[];

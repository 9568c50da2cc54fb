//! Rules over synchronisation between ranks: GA4xx.
use super::Rule;

/// In order of code.
pub static SYNC: &[&Rule] = &[];

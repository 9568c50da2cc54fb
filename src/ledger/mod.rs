//! The arithmetic of a window: exact totals, logged against exact, recipes and diagnosis.

/// What a window's numbers come to.
pub struct WindowLedger {}

//! The order of events: a state machine that says which clock ticked when.

/// What the clocks did in one window.
pub struct WindowClock {}

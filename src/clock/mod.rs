//! The order of events: a state machine that says which clock ticked when.
//!
//! [`Clock`] follows every rank through the windows in order and keeps, between windows, only counters: updates,
//! epochs, the loss scaler's states, whether gradient buffers are clean. For each window it gives a [`WindowClock`] in
//! which each recorded number stands beside the number that the contract's clock has there. It judges nothing: that is
//! `rules/`. What a recording does not say is unknown, and unknown is never a fault.
mod counts;
mod epoch;
mod fold;
mod pass;
mod rank;
mod scaler;
pub mod schedule;
#[cfg(test)]
pub(crate) mod testing;
mod trace;
mod updates;
mod window;

pub use counts::Counts;
pub use fold::Carried;
pub use fold::Clock;
pub use trace::Phase;
pub use trace::Tick;
pub use trace::Trace;
pub use updates::Updates;
pub use window::Counter;
pub use window::EpochEnd;
pub use window::Gradients;
pub use window::Label;
pub use window::Labelled;
pub use window::RankClock;
pub use window::Rate;
pub use window::Sighting;
pub use window::WindowClock;

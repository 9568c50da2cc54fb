//! The arithmetic of a window: exact totals, logged against exact, recipes and diagnosis.
//!
//! It sees counts, loss sums and vectors, and knows nothing of clocks, ranks' order or files.
pub mod base;
pub mod claim;
pub mod delta;
mod history;
pub mod microbatch;
mod tally;
pub mod weights;
pub mod window;

pub use tally::Ledger;
pub use window::WindowLedger;

#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;

//! The arithmetic of a window: exact totals, logged against exact, recipes and diagnosis.
//!
//! It sees counts, loss sums and vectors, and knows nothing of clocks, ranks' order or files.
mod accumulator;
pub mod base;
pub mod claim;
pub mod counterexample;
pub mod delta;
pub mod diagnosis;
mod drift;
pub mod evidence;
pub mod gradient;
mod history;
pub mod microbatch;
mod norm;
mod rescale;
#[cfg(test)]
pub(crate) mod sample;
mod scan;
mod tally;
#[cfg(test)]
mod tests;
pub mod totals;
pub mod weights;
pub mod window;

pub use counterexample::Counterexample;
pub use diagnosis::Diagnosis;
pub use evidence::EvidenceTotals;
pub use tally::Ledger;
pub use totals::RunTotals;
pub use window::WindowLedger;

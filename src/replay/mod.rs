//! Execution: the recorded events run on the embedded decoder, beside the full batch and beside known wrong recipes.
//!
//! Each window is lowered to a script while the run is read, and those that are chosen are executed when it was read
//! to its end. What comes out is a surrogate's: another model on synthetic targets. What it proves is about weights,
//! order and clocks, which are the run's own.
pub mod choice;
pub mod coordinates;
pub mod counterexample;
pub mod drift;
pub mod execute;
pub mod fault;
pub mod interpret;
pub mod lower;
pub mod machine;
pub mod recipes;
pub mod recomputation;
pub mod reference;
pub mod report;
pub mod request;
pub mod rows;
pub mod script;
pub mod trace;
pub mod window;

pub use coordinates::CoordinateDrift;
pub use coordinates::Coordinates;
pub use lower::Lowering;
pub use recipes::Recipe;
pub use recomputation::Recomputation;
pub use report::ReplayReport;
pub use request::DEFAULT_TARGETS;
pub use request::Replay;
pub use request::Replayed;
pub use request::Request;
pub use trace::Trace;

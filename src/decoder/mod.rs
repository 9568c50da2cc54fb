//! The small transformer that the replay runs on, and the logical update.
//!
//! [`Decoder`] builds the computation on a tape; [`pass::backward`] runs one microbatch into a gradient buffer;
//! [`update`] makes of several microbatches one update, whole or not at all. The pieces are callable one by one, so
//! that an interpreter can put them in any order, the wrong ones included.

pub mod config;
pub mod dropout;
pub mod initial;
pub mod microbatch;
pub mod model;
pub mod nine_targets;
pub mod outcome;
pub mod pass;
pub mod update;

pub use config::Config;
pub use dropout::Dropout;
pub use microbatch::{Microbatch, Partition};
pub use model::{Blocks, Decoder};
pub use update::Trainer;

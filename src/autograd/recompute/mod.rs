//! Recompute (activation checkpointing): a run of steps whose first forward leaves no tape, and which is run again when the
//! reverse sweep reaches it.
//!
//! Source: Chen et al., *Training Deep Nets with Sublinear Memory Cost*, arXiv:1604.06174; Griewank and Walther,
//! *Algorithm 799: revolve*, ACM TOMS 26 (2000).
//!
//! What is retained of such a segment: its output, and a recipe, which is the list of its operations with their settings
//! (rows, rotary tables, constants, dropout tickets) and references to parameters. What is replayed: every operation, from
//! the segment's input. What makes the replay deterministic: values depend on inputs and settings alone; tickets replace
//! drawing; there are no running statistics and no control flow that depends on data.
//!
//! Invariant: a segment's output is compared bit for bit with the first one before anything in it is differentiated, and
//! its contributions go into the cotangents of the outer tape in the order in which they would have gone there without
//! recompute. So gradients have the same bits, and parameter gradients are committed by the outer pass alone.

pub mod binomial;
pub mod chain;
mod mismatch;
mod mistake;
pub mod plan;
mod recipe;
mod rerun;
mod segment;
pub mod uniform;

pub use mismatch::Mismatch;
pub use mistake::Mistake;
pub use plan::Plan;
pub use rerun::Reruns;
pub(in crate::autograd) use segment::Segment;

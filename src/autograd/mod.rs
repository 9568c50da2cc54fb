//! Reverse- and forward-mode differentiation on a tape that is data.
//!
//! A [`Tape`] holds what was computed as `{primitive, inputs, value, saved}`: it can be printed, counted and walked in
//! either direction. A [`Primitive`] is one `static` record in one file with its value, its vector-Jacobian product
//! (VJP), its Jacobian-vector product (JVP) and the points at which both are tested; [`primitives::PRIMITIVES`] lists
//! them all. This module knows matrices, rows of positions and named parameters, and nothing of manifests, ranks or rules.
//!
//! Invariants: every sum has one written order, whatever the thread count, the CPU or the composition of the batch;
//! parameters are borrowed by the tape and cannot change under it; parameter gradients change only after a whole
//! backward pass has succeeded.

pub mod arena;
pub mod commit;
pub mod finite_difference;
mod forward;
pub mod gradients;
pub mod jacobian;
mod kernels;
pub mod parameters;
pub mod primitive;
pub mod primitives;
pub mod recompute;
pub mod retained;
mod reverse;
pub mod rotary;
pub mod rows;
pub mod tape;
pub mod tensor;
pub mod ticket;

#[cfg(test)]
mod gradcheck;

pub use arena::Arena;
pub use commit::{NotCommitted, Overflow};
pub use gradients::Gradients;
pub use parameters::{ParameterId, Parameters};
pub use primitive::Primitive;
pub use reverse::Cotangents;
pub use tape::{Options, Tape, Var};
pub use tensor::{Shape, Tensor};
pub use ticket::Ticket;

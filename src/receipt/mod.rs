//! The receipt: document, seal, check.
pub mod document;
mod seal;

pub use seal::Sealed;

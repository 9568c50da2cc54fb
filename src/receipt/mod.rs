//! The receipt: document, building, sealing, checking.
mod build;
mod carried;
pub mod check;
pub mod document;
mod limitations;
mod number;
mod seal;
mod window;

pub use build::Builder;
pub use seal::Sealed;

//! The receipt: document, building, sealing, checking.
pub mod archive;
mod build;
mod carried;
pub mod check;
pub mod diff;
pub mod document;
mod limitations;
mod number;
mod schema;
mod seal;
mod window;

pub use build::Builder;
pub use schema::schema;
pub use seal::Sealed;

//! Reading: bytes to events, and every fault at its place.
mod bad;
mod recorded;
pub(crate) mod run;

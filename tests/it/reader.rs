//! Reading: bytes to events, and every fault at its place.
mod agreement;
mod bad;
mod bytes;
mod documents;
mod generate;
mod impossible;
mod limits;
mod recorded;
pub(crate) mod run;
mod shapes;
mod shown;

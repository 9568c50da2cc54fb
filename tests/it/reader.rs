//! Reading: bytes to events, and every fault at its place.
mod recorded;
mod run;

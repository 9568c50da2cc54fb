//! What people are shown: one file per format.
pub mod visible;

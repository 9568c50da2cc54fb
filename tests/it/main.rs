//! The integration tests, one binary.

mod engine_golden;
mod golden;

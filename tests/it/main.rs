//! The integration tests, one binary.
mod reader;

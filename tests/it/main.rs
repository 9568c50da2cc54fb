//! The integration tests, one binary, a module for each subject.
#![allow(clippy::disallowed_methods, reason = "tests read files; only the library may not")]
mod derived;
mod determinism;
mod engine_accumulation;
mod engine_allocations;
mod engine_determinism;
mod engine_fixtures;
mod engine_golden;
mod engine_operations;
mod engine_precision;
mod engine_sweeps;
mod engine_update;
mod fixtures;
mod hostile;
mod matrix;
mod properties;
mod reader;
mod readme;
mod recorded;
mod replay;
mod resumption;
mod rule_pages;
mod runs;
mod schemas;
mod tidy;
mod witnessed;
mod worked;

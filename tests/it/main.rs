//! The integration tests, one binary, a module for each subject.
#![allow(clippy::disallowed_methods, reason = "tests read files; only the library may not")]
<<<<<<< HEAD
mod derived;
mod fixtures;
mod matrix;
=======
mod engine_accumulation;
mod engine_allocations;
mod engine_determinism;
mod engine_fixtures;
mod engine_golden;
mod engine_operations;
mod engine_precision;
mod engine_sweeps;
mod engine_update;
>>>>>>> main
mod reader;
mod recorded;
mod rule_pages;
<<<<<<< HEAD
mod runs;
=======
mod schemas;
>>>>>>> main
mod tidy;
mod witnessed;
mod worked;

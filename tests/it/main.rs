//! The integration tests, one binary.

mod engine_accumulation;
mod engine_allocations;
mod engine_determinism;
mod engine_fixtures;
mod engine_golden;
mod engine_operations;
mod engine_precision;
mod engine_sweeps;
mod engine_update;

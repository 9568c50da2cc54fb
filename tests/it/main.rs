//! The integration tests, one binary, a module for each subject.
#![allow(clippy::disallowed_methods, reason = "tests read files; only the library may not")]
mod derived;
mod fixtures;
mod matrix;
mod reader;
mod recorded;
mod rule_pages;
mod runs;
mod tidy;
mod witnessed;
mod worked;

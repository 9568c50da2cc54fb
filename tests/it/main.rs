//! The integration tests, one binary, a module for each subject.
#![allow(clippy::disallowed_methods, reason = "tests read files; only the library may not")]
mod reader;
mod rule_pages;
mod schemas;
mod tidy;

//! The integration tests, one binary, a module for each subject.
mod rule_pages;
mod tidy;

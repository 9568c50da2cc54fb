//! The formats that other tools read: SARIF, JUnit, GitHub's annotations, GitLab's Code Quality.
//!
//! Each is made of the same list of problems, so that none says more or less than the text does. Invariants: a problem's
//! fingerprint does not change when its numbers do, and everything from outside has been made harmless before a format
//! quotes it in its own way.
pub mod github;
pub mod gitlab;
pub mod junit;
mod path;
mod problem;
pub mod sarif;
#[cfg(test)]
mod testing;

pub use path::Folders;

use super::Shown;
use crate::manifest::source::SourceName;

/// A verified run, and what paths in its report are relative to.
#[derive(Clone, Copy, Debug)]
pub struct Checked<'a> {
    /// The run.
    pub shown: Shown<'a>,
    /// What was named on the command line, in its order.
    pub inputs: &'a [SourceName],
    /// Where paths start.
    pub folders: &'a Folders,
}

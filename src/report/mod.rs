//! What people are shown: pure functions from a receipt to text, one file per format.
//!
//! Nothing here prints, reads or asks the environment: width and colour come in as parameters. What a report says is
//! built once, as the blocks of `layout`, and each format renders the blocks; so another format is another renderer.
//! Invariant: text from a manifest is made harmless where it is rendered, and nowhere before.
pub mod ci;
mod counted;
pub mod diff;
pub mod example;
pub mod execution;
pub mod explain;
pub mod figure;
pub mod findings;
pub mod headline;
pub mod html;
pub mod json;
pub mod layout;
pub mod number;
pub mod page;
mod particular;
pub mod plain;
pub mod recipes;
mod recomputation;
pub mod schedule;
pub mod selfcheck;
#[cfg(test)]
mod testing;
pub mod timeline;
pub mod verdict;
pub mod visible;
pub mod words;

use crate::finding::Place;
use crate::manifest::locate::Location;
use crate::receipt::document::Receipt;

/// A receipt with what only this run of the program knows of it.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// What is reported.
    pub receipt: &'a Receipt,
    /// What was named on the command line.
    pub subject: &'a str,
    /// By finding, in the receipt's order, the instances whose source is at hand; may be shorter than the findings.
    pub excerpts: &'a [Vec<Excerpt>],
}

impl<'a> Shown<'a> {
    /// A receipt without its manifest.
    pub fn new(receipt: &'a Receipt, subject: &'a str) -> Self {
        Shown { receipt, subject, excerpts: &[] }
    }

    /// The excerpts of a finding, by its index.
    pub fn excerpts_of(&self, finding: usize) -> &'a [Excerpt] {
        self.excerpts.get(finding).map_or(&[], Vec::as_slice)
    }
}

/// One instance of a finding, with the piece of its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// What is wrong there. It is escaped here.
    pub message: String,
    /// Where, for an instance without a source.
    pub place: Place,
    /// Where in a file; absent where the place is none in a file.
    pub location: Option<Location>,
    /// What `manifest::snippet` made of it: already harmless, already coloured. A title above its ` --> ` line is left
    /// out, since the report writes its own. Empty where the place is none in a file.
    pub snippet: String,
}

/// How text is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether ANSI colours are written.
    pub color: bool,
    /// Columns of a line; `usize::MAX` for no limit.
    pub width: usize,
}

impl Style {
    /// No colour.
    pub fn plain(width: usize) -> Self {
        Style { color: false, width }
    }
}

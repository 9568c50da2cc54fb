//! From a place in a run to a place in a file, by reading the file again.
//!
//! Invariant: nothing is stored per event while a run is read; what a finding needs to be shown is found when it is
//! shown, in one pass over each source however many findings there are.
mod document;
mod excerpt;
mod lines;

pub use excerpt::Excerpt;

use crate::finding::Code;
use crate::finding::Place;
use crate::manifest::explain::Fault;
use crate::manifest::json::Node;
use crate::manifest::json::Tree;
use crate::manifest::layout::Layout;
use crate::manifest::layout::Origin;
use crate::manifest::pointer::steps;
use crate::manifest::read::ReadError;
use crate::manifest::source::SourceName;
use crate::manifest::source::Sources;
use std::collections::BTreeMap;
use std::ops::Range;

/// Where something stands in a source's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Which source.
    pub source: SourceName,
    /// From 1.
    pub line: u64,
    /// In characters, from 1.
    pub column: u64,
    /// In bytes of the text (decompressed where the source is compressed).
    pub span: Range<u64>,
    /// JSON Pointer in the document; in JSON Lines, in that line.
    pub pointer: String,
    /// The line, or so much of it as can be shown.
    pub excerpt: Excerpt,
}

/// What is to be found: where a finding is, and which it is where several are at one place.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The finding's code.
    pub code: Code,
    /// The finding's place.
    pub place: &'a Place,
    /// The finding's message.
    pub message: &'a str,
}

/// Finds places again; `None` for one that is no single place in a source, like a window over all ranks.
///
/// # Errors
///
/// If a source can't be read any more.
pub fn locate(
    sources: &dyn Sources,
    layout: &Layout,
    wanted: &[Wanted<'_>],
) -> Result<Vec<Option<Location>>, ReadError> {
    let mut by_source: BTreeMap<&SourceName, Vec<usize>> = BTreeMap::new();
    for (index, wanted) in wanted.iter().enumerate() {
        if let Some(source) = source_of(layout, wanted.place) {
            by_source.entry(source).or_default().push(index);
        }
    }
    let mut found = vec![None; wanted.len()];
    for (source, indices) in by_source {
        let of_source = indices.iter().map(|&index| (index, wanted[index]));
        if layout.document.as_ref() == Some(source) {
            document::find(sources, layout, source, of_source, &mut found)?;
        } else {
            lines::find(sources, source, of_source, &mut found)?;
        }
    }
    Ok(found)
}

fn source_of<'l>(layout: &'l Layout, place: &Place) -> Option<&'l SourceName> {
    let lines = |origin: &'l Origin| match origin {
        Origin::Lines(name) => Some(name),
        Origin::Entry(_) => None,
    };
    match (place.rank, place.event, &place.field) {
        (Some(_), None, None) if place.window.is_some() => None,
        (Some(rank), _, _) => layout.ranks.get(&rank).and_then(lines).or(layout.document.as_ref()),
        (None, _, None) if place.window.is_some() => None,
        // What is said of the run's contract is shown in the first header.
        (None, ..) => layout.document.as_ref().or_else(|| layout.ranks.values().find_map(lines)),
    }
}

/// The span of the fault among these that a finding tells of.
fn told(faults: &[Fault], pointer: &str, wanted: Wanted<'_>) -> Option<Range<usize>> {
    let is_it = |fault: &&Fault| {
        fault.code == wanted.code && fault.pointer == pointer && fault.message == wanted.message && fault.span != (0..0)
    };
    faults.iter().find(is_it).map(|fault| fault.span.clone())
}

/// The node to which a pointer leads, or as near to it as there is one.
fn descend<'t>(tree: &'t Tree<'t>, pointer: &str) -> Option<Node<'t>> {
    let mut node = tree.root()?;
    for step in steps(pointer) {
        let element = || step.parse().ok().and_then(|index| node.elements().nth(index));
        let Some(next) = node.member(&step).or_else(element) else { break };
        node = next;
    }
    Some(node)
}

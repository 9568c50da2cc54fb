//! Where a run's parts stand, so that a place can be found again.
use crate::manifest::source::SourceName;
use std::collections::BTreeMap;

/// A run's documents.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The rank manifest, where there is one.
    pub(crate) document: Option<SourceName>,
    /// Where each rank's events are.
    pub(crate) ranks: BTreeMap<u64, Origin>,
}

/// Where one rank's events are.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// In the lines of a file, after its header.
    Lines(SourceName),
    /// In the rank manifest's entry with this index.
    Entry(usize),
}

impl Layout {
    pub(crate) fn of_files(ranks: impl IntoIterator<Item = (u64, Origin)>) -> Self {
        Layout { document: None, ranks: ranks.into_iter().collect() }
    }

    pub(crate) fn of_document(name: SourceName, ranks: impl IntoIterator<Item = (u64, Origin)>) -> Self {
        Layout { document: Some(name), ranks: ranks.into_iter().collect() }
    }
}

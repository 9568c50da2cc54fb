//! What kinds of leaves there are, how each is changed, and which rules have to see that.
use crate::runs::document;
use crate::runs::edit::with;
use receipt::finding::Code::{self, *};
use serde_json::{Value, json};

/// How a leaf is changed.
pub(super) enum Change {
    /// A count goes up by one, a real gets another value, a flag flips, an identifier changes.
    Other,
    /// To this JSON.
    To(&'static str),
}

/// A kind of leaf.
pub(super) struct Row {
    /// The path to it, without indices, `contract`, and the rank's `events`.
    pub(super) kind: &'static str,
    /// The same in the documentation.
    pub(super) documented: &'static str,
    pub(super) change: Change,
    /// Every one of them fires for some leaf of the kind; none where it is unwitnessed, and then nothing fires.
    pub(super) witnesses: &'static [Code],
    /// Leaves of the kind whose change nothing sees, because nothing to compare them with was recorded in their window.
    pub(super) silent: u64,
}

const fn row(kind: &'static str, change: Change, witnesses: &'static [Code]) -> Row {
    Row { kind, documented: kind, change, witnesses, silent: 0 }
}

const fn other(kind: &'static str, witnesses: &'static [Code]) -> Row {
    row(kind, Change::Other, witnesses)
}

const fn to(kind: &'static str, json: &'static str, witnesses: &'static [Code]) -> Row {
    row(kind, Change::To(json), witnesses)
}

impl Row {
    const fn silent(self, silent: u64) -> Row {
        Row { silent, ..self }
    }

    const fn documented(self, documented: &'static str) -> Row {
        Row { documented, ..self }
    }
}

/// All kinds of leaves.
pub(super) const TABLE: &[Row] = &[
    other("schema", &[GA102]),
    other("rank", &[GA110]),
    other("resume.previous_receipt", &[]),
];

/// Runs that record what no other here does.
pub(super) fn small() -> Vec<Value> {
    vec![]
}

//! Where a finding is: independent of the file's shape, so that receipts are too.
use serde::{Deserialize, Serialize};

/// A place in a run. Only rendering turns it into file, line, column and JSON Pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The rank, where the finding is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// Index of the event among the rank's events, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<u64>,
    /// The window, where the finding is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// JSON Pointer (RFC 6901) below the event, or below the document where there is no event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

impl Place {
    /// The run as a whole.
    pub fn run() -> Self {
        Place::default()
    }

    /// A field of the document: of the contract, say (`/contract/clip/max_norm`).
    pub fn document(field: impl Into<String>) -> Self {
        Place { field: Some(field.into()), ..Place::default() }
    }

    /// A window as a whole, over all ranks.
    pub fn window(window: u64) -> Self {
        Place { window: Some(window), ..Place::default() }
    }

    /// An event of a rank.
    pub fn event(rank: u64, event: u64) -> Self {
        Place { rank: Some(rank), event: Some(event), ..Place::default() }
    }

    /// The same place, in a window.
    pub fn in_window(self, window: u64) -> Self {
        Place { window: Some(window), ..self }
    }

    /// The same place, narrowed to a field (a JSON Pointer below the event, like `/backward/loss_sum`).
    pub fn at(self, field: impl Into<String>) -> Self {
        Place { field: Some(field.into()), ..self }
    }
}

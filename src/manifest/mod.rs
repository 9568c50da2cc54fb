//! The public input format: wire types, limits, readers (MANIFEST.md §2–4, `docs/method.md`).
pub mod contract;
pub mod document;
pub mod event;
pub mod identifier;
pub mod limits;
pub mod window;

use serde::{Deserialize, Deserializer};

/// Reads an optional field that is there: unlike serde's own reading of an `Option`, `null` is refused.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

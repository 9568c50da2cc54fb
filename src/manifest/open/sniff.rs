//! Which of the two documents a source holds, told by its content.
use crate::manifest::document::Header;
use crate::manifest::json;
use crate::manifest::read::lines::Lines;

/// The kinds of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A microbatch manifest: JSON Lines.
    Microbatches,
    /// A rank manifest: one document.
    Ranks,
    /// Nothing by which to tell; an empty file, say.
    Unknown,
}

/// So much of the first line mostly tells.
const GLANCE: usize = 1 << 14;

/// UTF-8's byte-order mark.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Looks at what comes first, without taking it.
pub(super) fn kind(lines: &mut Lines) -> Kind {
    let line = lines.peek_line();
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    if serde_json::from_slice::<Header>(line).is_ok() {
        return Kind::Microbatches;
    }
    let glance = &line[..line.len().min(GLANCE)];
    let told = by_keys(glance).or_else(|| if glance.len() < line.len() { by_keys(line) } else { None });
    let is_whole = serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
    let length = line.len();
    // A document's first line may be no more than its `{`.
    let told = told.or_else(|| if is_whole { None } else { by_keys(lines.peek(GLANCE)) });
    told.unwrap_or(match is_whole && lines.has_more_than(length) {
        true => Kind::Microbatches,
        false => Kind::Unknown,
    })
}

/// By the schema's name, or else by a key that only one kind has.
fn by_keys(text: &[u8]) -> Option<Kind> {
    let tree = json::parse_document(text);
    let root = tree.root()?;
    let schema = root.member("schema").and_then(json::Node::string).unwrap_or_default();
    let has = |key: &str| root.member(key).is_some();
    if schema.starts_with("accumulation/microbatch-manifest/") {
        Some(Kind::Microbatches)
    } else if schema.starts_with("accumulation/rank-manifest/") || has("ranks") || has("replay") || has("resume") {
        Some(Kind::Ranks)
    } else if has("rank") {
        Some(Kind::Microbatches)
    } else {
        None
    }
}

//! A rank manifest's text, and what can be saved of a bad one.
use crate::canonical::Count;
use crate::canonical::Digest;
use crate::manifest::contract::Contract;
use crate::manifest::document::RankEntry;
use crate::manifest::document::RankManifest;
use crate::manifest::explain;
use crate::manifest::explain::Fault;
use crate::manifest::json;
use crate::manifest::json::Node;
use crate::manifest::open::sniff::BYTE_ORDER_MARK;
use crate::manifest::replay::ReplayOptions;
use crate::manifest::resume::Resume;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::ops::Range;
use std::sync::Arc;

/// What a rank manifest says.
#[derive(Debug, Default)]
pub(crate) struct DocumentRead {
    pub(crate) contract: Option<Contract>,
    pub(crate) replay: ReplayOptions,
    pub(crate) resume: Option<Resume>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) faults: Vec<Fault>,
    /// The list of ranks breaks off, so that those missing say nothing.
    pub(crate) is_torn: bool,
}

/// One rank, as far as it could be read.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) rank: Option<u64>,
    pub(crate) events: Events,
}

/// Where a rank's events are.
#[derive(Debug)]
pub(crate) enum Events {
    /// Here, in the document.
    Inline(Arc<[Range<usize>]>),
    /// In a file.
    Reference { path: String, sha256: Option<Digest> },
    /// That could not be read.
    Unknown,
}

/// The text with a byte-order mark, if there is one, made white space, so that all else keeps its place.
pub(crate) fn without_mark(mut text: Vec<u8>) -> Vec<u8> {
    if text.starts_with(BYTE_ORDER_MARK) {
        text[..BYTE_ORDER_MARK.len()].fill(b' ');
    }
    text
}

/// Reads a document, and explains it where it can't be read.
pub(crate) fn read(text: &[u8]) -> DocumentRead {
    match serde_json::from_slice::<RankManifest<&RawValue>>(text) {
        Ok(manifest) => {
            let RankManifest { contract, ranks, replay, resume, .. } = manifest;
            let entries = ranks.iter().map(|entry| typed(entry, text)).collect();
            DocumentRead { contract: Some(contract), replay, resume, entries, ..DocumentRead::default() }
        }
        Err(error) => saved(text, &error),
    }
}

fn typed(entry: &RankEntry<&RawValue>, text: &[u8]) -> Entry {
    match entry {
        RankEntry::Inline(inline) => {
            let events = inline.events.iter().map(|raw| span(raw.get(), text)).collect();
            Entry { rank: Some(inline.rank.get()), events: Events::Inline(events) }
        }
        RankEntry::Reference(reference) => {
            let path = reference.microbatch_manifest.clone();
            let events = Events::Reference { path, sha256: Some(reference.sha256) };
            Entry { rank: Some(reference.rank.get()), events }
        }
    }
}

/// Where a part of the text stands in it.
fn span(part: &str, text: &[u8]) -> Range<usize> {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.len()
}

fn saved(text: &[u8], error: &serde_json::Error) -> DocumentRead {
    let tree = json::parse_document(text);
    let root = tree.root();
    let member = |name| root.and_then(|root| root.member(name));
    let entries: Vec<Entry> = member("ranks").into_iter().flat_map(Node::elements).map(entry).collect();
    let mut faults = explain::against(&tree, "RankManifest");
    if faults.is_empty() && !entries.iter().any(|entry| has_bad_event(entry, text)) {
        faults.push(explain::told_by_reader(text, error));
    }
    DocumentRead {
        contract: member("contract").and_then(parse),
        replay: member("replay").and_then(parse).unwrap_or_default(),
        resume: member("resume").and_then(parse),
        is_torn: root.is_none_or(Node::is_torn) || member("ranks").is_some_and(Node::is_torn),
        entries,
        faults,
    }
}

/// Whether an event is no JSON. Its own reader will say so.
fn has_bad_event(entry: &Entry, text: &[u8]) -> bool {
    let Events::Inline(spans) = &entry.events else { return false };
    spans.iter().any(|span| serde_json::from_slice::<&RawValue>(&text[span.clone()]).is_err())
}

fn parse<T: DeserializeOwned>(node: Node<'_>) -> Option<T> {
    serde_json::from_slice(node.text()).ok()
}

fn entry(node: Node<'_>) -> Entry {
    let rank = node.member("rank").and_then(parse).map(Count::get);
    let events = if let Some(events) = node.member("events") {
        Events::Inline(events.elements().map(Node::span).collect())
    } else if let Some(path) = node.member("microbatch_manifest").and_then(Node::string) {
        Events::Reference { path, sha256: node.member("sha256").and_then(parse) }
    } else {
        Events::Unknown
    };
    Entry { rank, events }
}

//! Why a text was refused: every fault in it, with code, JSON Pointer and span.
//!
//! Invariant: this runs only on what the readers of the types have refused, and always finds something, if only what
//! the reader itself said. So an error here can make a message worse, never a verdict.
mod choice;
mod object;
mod scalar;
mod suggest;
mod walk;

pub(crate) use suggest::quote;

use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Place;
use crate::finding::Severity;
use crate::manifest::document::Header;
use crate::manifest::event::Event;
use crate::manifest::json;
use crate::manifest::json::Tree;
use crate::manifest::limits::LINE_BYTES;
use crate::manifest::schema;
use std::io;
use std::ops::Range;

/// How many faults of one text are told one by one.
const FAULTS_KEPT: usize = 256;

/// Something wrong with a text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    pub(crate) severity: Severity,
    /// Below the text's outermost value.
    pub(crate) pointer: String,
    pub(crate) message: String,
    /// In the text; empty at 0 where it has to be looked up by the pointer.
    pub(crate) span: Range<usize>,
}

impl Fault {
    pub(crate) fn new(code: Code, pointer: String, message: impl Into<String>, span: Range<usize>) -> Self {
        Fault { code, severity: Severity::Error, pointer, message: message.into(), span }
    }

    /// The finding that tells of it.
    pub(crate) fn at(self, place: Place) -> Finding {
        let place = if self.pointer.is_empty() { place } else { place.at(self.pointer) };
        Finding::new(self.code, place, self.message).with_severity(self.severity)
    }
}

/// Why a text is no event.
pub(crate) fn event(text: &[u8], error: &serde_json::Error) -> Vec<Fault> {
    if text.trim_ascii().is_empty() {
        return vec![Fault::new(
            Code::GA101,
            String::new(),
            "a blank line; every line after the first is an event",
            0..0,
        )];
    }
    if serde_json::from_slice::<Header>(text).is_ok() {
        let message = "a header, which stands on the first line of a file and on no other";
        return vec![Fault::new(Code::GA103, String::new(), message, 0..text.len())];
    }
    refused(text, &json::parse(text), "Event", error)
}

/// Why a text is no header.
pub(crate) fn header(text: &[u8], tree: &Tree<'_>, error: &serde_json::Error) -> Vec<Fault> {
    if serde_json::from_slice::<Event>(text).is_ok() {
        let message = "an event, where the first line of a microbatch manifest is its header";
        return vec![Fault::new(Code::GA103, String::new(), message, 0..text.len())];
    }
    refused(text, tree, "Header", error)
}

/// Why a tree is none of what the definition of that name in the schemas describes, as far as that can be told.
pub(crate) fn against(tree: &Tree<'_>, name: &str) -> Vec<Fault> {
    let mut faults: Vec<Fault> = tree
        .mistakes
        .iter()
        .take(FAULTS_KEPT)
        .map(|mistake| Fault::new(mistake.code, mistake.pointer.clone(), &*mistake.message, mistake.span.clone()))
        .collect();
    faults.extend(walk::faults(tree, schema::definition(name)));
    if faults.iter().any(|fault| fault.code == Code::GA102 && fault.pointer == "/schema") {
        // Of another version's shape this one knows nothing.
        faults.retain(|fault| matches!(fault.code, Code::GA101 | Code::GA102));
    }
    faults.sort_by_key(|fault| fault.span.start);
    faults
}

/// The same, of a text that has been refused for some reason.
pub(crate) fn refused(text: &[u8], tree: &Tree<'_>, name: &str, error: &serde_json::Error) -> Vec<Fault> {
    let mut faults = against(tree, name);
    if faults.is_empty() {
        faults.push(told_by_reader(text, error));
    }
    faults
}

/// What the type's reader itself said, at the place that it named.
pub(crate) fn told_by_reader(text: &[u8], error: &serde_json::Error) -> Fault {
    let code = if error.is_data() { Code::GA103 } else { Code::GA101 };
    let line_start: usize =
        text.split_inclusive(|&byte| byte == b'\n').take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    let at = (line_start + error.column().saturating_sub(1)).min(text.len());
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
    Fault::new(code, String::new(), short(message), at..at)
}

/// A message of which no more is kept than can be read.
fn short(message: &str) -> String {
    message.chars().take(200).collect()
}

/// A line beyond the limit.
pub(crate) fn overlong() -> Fault {
    Fault::new(Code::GA115, String::new(), format!("a line longer than the limit of {LINE_BYTES} bytes"), 0..0)
}

/// A compressed file that doesn't decompress.
pub(crate) fn compression(format: &str, error: &io::Error) -> Fault {
    let message = match error.kind() {
        io::ErrorKind::UnexpectedEof => format!("the {format} stream breaks off"),
        _ => format!("the {format} stream is damaged: {error}"),
    };
    Fault::new(Code::GA101, String::new(), message, 0..0)
}

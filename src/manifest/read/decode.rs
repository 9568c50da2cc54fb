//! Text to events with their canonical bytes: what the pool's threads do.
//!
//! Invariant: an event is accepted if and only if its type's reader accepts it and [`terms`](super::terms) finds it
//! within the contract's terms. Explaining a refusal can't turn it into acceptance.
use crate::finding::Code;
use crate::finding::Severity;
use crate::manifest::event::Event;
use crate::manifest::explain;
use crate::manifest::explain::Fault;
use crate::manifest::limits::LINE_BYTES;
use crate::manifest::read::terms::Terms;
use crate::manifest::window::Indexed;
use memchr::memchr;
use std::ops::Range;

/// Bytes of an ordinary event's line, by which room is made for the events of a block.
const USUAL_LINE: usize = 128;

/// What some lines or slices were.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    /// The good events; indices count from the beginning of these lines.
    pub(crate) events: Vec<Indexed>,
    /// Their canonical bytes, each followed by a newline.
    pub(crate) canonical: Vec<u8>,
    /// What is wrong with the others, in order.
    pub(crate) faults: Vec<Misplaced>,
    /// How many events there were, good or not.
    pub(crate) slots: u64,
}

/// A fault in the event with this index.
#[derive(Debug)]
pub(crate) struct Misplaced {
    /// How many good events stand before it.
    pub(crate) before: usize,
    /// Counted from the beginning of the lines; `None` where the fault is about the rank's entry in the document.
    pub(crate) slot: Option<u64>,
    pub(crate) fault: Fault,
}

impl Decoded {
    /// One fault in place of an event.
    pub(crate) fn fault(fault: Fault) -> Self {
        let faults = vec![Misplaced { before: 0, slot: Some(0), fault }];
        Decoded { faults, slots: 1, ..Decoded::default() }
    }

    /// One fault that is about no event.
    pub(crate) fn about_entry(fault: Fault) -> Self {
        let faults = vec![Misplaced { before: 0, slot: None, fault }];
        Decoded { faults, ..Decoded::default() }
    }

    fn take(&mut self, text: &[u8], is_torn: bool, terms: &Terms) {
        let slot = self.slots;
        self.slots += 1;
        match event(text, is_torn, terms) {
            Ok(event) => {
                event.write_canonical(&mut self.canonical);
                self.canonical.push(b'\n');
                self.events.push(Indexed { index: slot, event });
            }
            Err(faults) => {
                let before = self.events.len();
                self.faults.extend(faults.into_iter().map(|fault| Misplaced { before, slot: Some(slot), fault }));
            }
        }
    }
}

/// Reads one event's text, which lacks its newline and possibly its end where `may_be_torn`.
pub(crate) fn event(text: &[u8], may_be_torn: bool, terms: &Terms) -> Result<Event, Vec<Fault>> {
    // Text that is known to be UTF-8 as a whole is not asked again for each of its strings.
    let read = match std::str::from_utf8(text) {
        Ok(text) => serde_json::from_str::<Event>(text),
        Err(_) => serde_json::from_slice::<Event>(text),
    };
    let error = match read {
        Ok(event) => {
            let faults = terms.judge(&event);
            return if faults.is_empty() { Ok(event) } else { Err(faults) };
        }
        Err(error) => error,
    };
    if may_be_torn && error.is_eof() && !text.trim_ascii().is_empty() {
        return Err(vec![torn(text, terms)]);
    }
    Err(explain::event(text, &error))
}

fn torn(text: &[u8], terms: &Terms) -> Fault {
    let message = "the last line is torn: it breaks off in the middle of an event";
    let severity = if terms.partial { Severity::Warning } else { Severity::Error };
    Fault { severity, ..Fault::new(Code::GA101, String::new(), message, text.len()..text.len()) }
}

/// Reads whole lines, of which only the last may lack its newline.
pub(crate) fn lines(text: &[u8], terms: &Terms) -> Decoded {
    let mut decoded = Decoded::default();
    decoded.canonical.reserve(text.len());
    decoded.events.reserve(text.len() / USUAL_LINE);
    let mut rest = text;
    while !rest.is_empty() {
        let newline = memchr(b'\n', rest);
        let (line, next) = match newline {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None => (rest, &rest[rest.len()..]),
        };
        rest = next;
        if line.len() > LINE_BYTES {
            let slot = decoded.slots;
            decoded.slots += 1;
            let before = decoded.events.len();
            decoded.faults.push(Misplaced { before, slot: Some(slot), fault: explain::overlong() });
        } else {
            decoded.take(line, newline.is_none(), terms);
        }
    }
    decoded
}

/// Reads events that stand in a document.
pub(crate) fn slices(document: &[u8], spans: &[Range<usize>], terms: &Terms) -> Decoded {
    let mut decoded = Decoded::default();
    for span in spans {
        decoded.take(&document[span.clone()], false, terms);
    }
    decoded
}

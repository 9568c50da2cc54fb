//! Canonical bytes (RFC 8785) of events, without the detour over a tree of values.
//!
//! Invariant: the bytes are those that `serde_jcs` writes. It rests on every event's fields being declared in the
//! order of their keys; `tests/it/reader_canonical.rs` compares both writers on events of every kind.
use crate::manifest::event::Event;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;
use std::io;
use std::io::Write;

impl Event {
    /// Appends the event's canonical bytes.
    pub fn write_canonical(&self, out: &mut Vec<u8>) {
        let mut serializer = Serializer::with_formatter(out, Canonical);
        self.serialize(&mut serializer).expect("bug: an event could not be written to memory");
    }
}

/// Compact, and reals as ECMAScript writes them.
struct Canonical;

impl Formatter for Canonical {
    fn write_f64<W: Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(ryu_js::Buffer::new().format_finite(value).as_bytes())
    }
}

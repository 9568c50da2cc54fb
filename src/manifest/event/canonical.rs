//! Canonical bytes (RFC 8785) of events, which are millions.
//!
//! Invariant: every event's fields are declared in the order of their keys. `tests/it/reader/agreement.rs` compares the
//! bytes with those of `serde_jcs` on events of every kind.
use crate::canonical;
use crate::manifest::event::Event;

impl Event {
    /// Appends the event's canonical bytes.
    pub fn write_canonical(&self, out: &mut Vec<u8>) {
        canonical::append_as_declared(self, out).expect("bug: an event holds what canonical JSON cannot");
    }
}

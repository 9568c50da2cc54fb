//! What canonical JSON cannot hold, and where it stood.

use serde::ser;
use std::fmt;

/// What canonical JSON cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// NaN or infinity, for which JSON has no text.
    #[error("a number that is not finite")]
    Nonfinite,
    /// An integer beyond ±2^53, which readers round.
    #[error("the integer {0}, beyond 2^53")]
    UnsafeInteger(String),
    /// A map key that is not a string.
    #[error("a key that is not a string")]
    KeyNotString,
    /// The same key twice in one object.
    #[error("the key {0:?} twice")]
    DuplicateKey(String),
    /// Raw JSON, whose numbers cannot be seen.
    #[error("unparsed JSON")]
    Raw,
    /// What the value's own `Serialize` said.
    #[error("{0}")]
    Other(String),
}

/// Where a value holds what canonical JSON cannot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at {pointer:?}")]
pub struct CanonicalError {
    /// What is there.
    pub problem: Problem,
    /// JSON Pointer (RFC 6901) of the place; empty for the value itself.
    pub pointer: String,
}

impl From<Problem> for CanonicalError {
    fn from(problem: Problem) -> Self {
        Self { problem, pointer: String::new() }
    }
}

impl ser::Error for CanonicalError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Problem::Other(message.to_string()).into()
    }
}

impl CanonicalError {
    /// The same, seen from the object or array around it.
    pub(super) fn inside(mut self, token: impl fmt::Display) -> Self {
        let token = token.to_string().replace('~', "~0").replace('/', "~1");
        self.pointer.insert_str(0, &token);
        self.pointer.insert(0, '/');
        self
    }
}

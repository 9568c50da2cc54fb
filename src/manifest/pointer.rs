//! JSON Pointers (RFC 6901) as they grow and shrink on a walk through a document.
use std::fmt;

/// Characters of a key that a pointer shows. No key of the format is so long; one of a megabyte shall not be repeated.
const LONGEST_KEY: usize = 64;

/// A path into a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pointer {
    text: String,
    /// Where each step begins.
    steps: Vec<usize>,
}

impl Pointer {
    /// Steps into a member.
    pub(crate) fn push_key(&mut self, key: &str) {
        self.steps.push(self.text.len());
        self.text.push('/');
        match key.char_indices().nth(LONGEST_KEY) {
            None => self.text.push_str(&escape(key)),
            Some((end, _)) => self.text.extend([&escape(&key[..end]), "…"]),
        }
    }

    /// Steps into an element.
    pub(crate) fn push_index(&mut self, index: usize) {
        self.push_key(&index.to_string());
    }

    /// Steps out again.
    pub(crate) fn pop(&mut self) {
        let start = self.steps.pop().expect("bug: a pointer left more than it entered");
        self.text.truncate(start);
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A key as it stands in a pointer.
pub(crate) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// A pointer's steps as keys.
pub(crate) fn steps(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"))
}

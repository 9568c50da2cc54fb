//! What is done about the order of an object's members.

use super::error::Problem;
use super::writer::Outcome;
use super::writer::Refused;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::mem;
use std::ops::Range;

/// Sees to it that members stand in the order of their keys.
pub(super) trait Order {
    /// An object begins; what is given is asked for when it ends.
    fn open(&self) -> usize;

    /// A member begins at `start`.
    fn member(&mut self, key: Cow<'static, str>, start: usize);

    /// An object ends, with the last of what was written.
    fn close(&mut self, opened: usize, out: &mut Vec<u8>) -> Outcome;
}

/// For types whose fields are declared in the order of their keys: nothing is done.
pub(super) struct AsDeclared;

impl Order for AsDeclared {
    #[inline]
    fn open(&self) -> usize {
        0
    }

    #[inline]
    fn member(&mut self, _: Cow<'static, str>, _: usize) {}

    #[inline]
    fn close(&mut self, _: usize, _: &mut Vec<u8>) -> Outcome {
        Ok(())
    }
}

/// Puts an object whose members come in another order in order when it ends.
#[derive(Default)]
pub(super) struct Sorted {
    /// Of the objects that are still open.
    members: Vec<Member>,
    /// The members of the object that ended last and was in no other.
    outermost: Vec<Member>,
    /// Room for the members of an object while they are put in order.
    scratch: Vec<u8>,
}

/// One member of an object.
struct Member {
    key: Cow<'static, str>,
    /// Where its text begins.
    start: usize,
}

impl Order for Sorted {
    fn open(&self) -> usize {
        self.members.len()
    }

    fn member(&mut self, key: Cow<'static, str>, start: usize) {
        self.members.push(Member { key, start });
    }

    fn close(&mut self, opened: usize, out: &mut Vec<u8>) -> Outcome {
        if !self.members[opened..].is_sorted_by(|left, right| by_utf16(&left.key, &right.key).is_lt()) {
            self.reorder(opened, out)?;
        }
        match opened {
            0 => self.outermost = mem::take(&mut self.members),
            _ => self.members.truncate(opened),
        }
        Ok(())
    }
}

impl Sorted {
    /// Where the outermost object's member with the next higher key begins.
    ///
    /// # Panics
    ///
    /// If what was written is no object with members.
    pub(super) fn place_of(&self, key: &str) -> Option<usize> {
        assert!(!self.outermost.is_empty(), "bug: what is sealed is an object with members");
        self.outermost.iter().find(|other| by_utf16(key, &other.key).is_lt()).map(|next| next.start)
    }

    fn reorder(&mut self, opened: usize, out: &mut Vec<u8>) -> Outcome {
        let Sorted { members, scratch, .. } = self;
        let first = members[opened].start;
        let mut end = out.len();
        let mut parts: Vec<(Member, Range<usize>)> = Vec::with_capacity(members.len() - opened);
        for member in members.drain(opened..).rev() {
            let start = member.start;
            parts.push((member, start - first..end - first));
            end = start - 1;
        }
        parts.sort_by(|(left, _), (right, _)| by_utf16(&left.key, &right.key));
        if let Some(pair) = parts.windows(2).find(|pair| pair[0].0.key == pair[1].0.key) {
            let key = pair[0].0.key.to_string();
            return Err(Refused::from(Problem::DuplicateKey(key.clone())).inside(key));
        }
        scratch.clear();
        scratch.extend_from_slice(&out[first..]);
        out.truncate(first);
        for (member, range) in parts {
            if out.len() > first {
                out.push(b',');
            }
            members.push(Member { start: out.len(), ..member });
            out.extend_from_slice(&scratch[range]);
        }
        Ok(())
    }
}

/// The order of keys: that of their UTF-16 (RFC 8785 §3.2.3), of which ASCII needs no decoding.
fn by_utf16(left: &str, right: &str) -> Ordering {
    match left.is_ascii() && right.is_ascii() {
        true => left.cmp(right),
        false => left.encode_utf16().cmp(right.encode_utf16()),
    }
}

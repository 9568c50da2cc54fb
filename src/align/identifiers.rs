//! Every microbatch identifier of the run, exactly, so that a second use is found and no other is called one.
use crate::manifest::identifier::Identifier;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// A set of identifiers: their bytes in one arena, and a table of where each lies in it.
#[derive(Default)]
pub(super) struct Identifiers {
    arena: Vec<u8>,
    table: HashTable<Entry>,
    /// Keyed at random, so that no manifest can be made to collide; nothing depends on its order.
    hasher: DefaultHashBuilder,
}

/// Where an identifier lies, and part of its hash, so that neither growing nor a near miss reads the arena. One word:
/// the table is met at random places, and the fewer cache lines it has the better.
#[derive(Clone, Copy)]
struct Entry(u64);

impl Entry {
    /// Bits of the offset: an arena of 64 GiB.
    const OFFSET: u32 = 36;

    fn new(hash: u64, at: u64) -> Self {
        assert!(at >> Entry::OFFSET == 0, "bug: more than 64 GiB of identifiers are held in memory");
        Entry(hash << Entry::OFFSET | at)
    }

    /// Offset into the arena; the byte there is the identifier's length, 1 to 128.
    fn at(self) -> u64 {
        self.0 & ((1 << Entry::OFFSET) - 1)
    }

    /// What the table sorts by: the kept part of the hash, spread over all bits again.
    fn spread(self) -> u64 {
        (self.0 >> Entry::OFFSET).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

impl Identifiers {
    /// Takes in an identifier; false where it was in already.
    pub(super) fn insert(&mut self, identifier: &Identifier) -> bool {
        let Identifiers { arena, table, hasher } = self;
        let bytes = identifier.as_str().as_bytes();
        let new = Entry::new(hasher.hash_one(bytes), arena.len() as u64);
        let is_same = |entry: &Entry| entry.spread() == new.spread() && stored(arena, entry.at()) == bytes;
        if table.find(new.spread(), is_same).is_some() {
            return false;
        }
        arena.push(u8::try_from(bytes.len()).expect("bug: an identifier of over 255 bytes"));
        arena.extend_from_slice(bytes);
        table.insert_unique(new.spread(), new, |entry| entry.spread());
        true
    }
}

fn stored(arena: &[u8], at: u64) -> &[u8] {
    let start = usize::try_from(at).expect("bug: an offset beyond memory") + 1;
    &arena[start..start + usize::from(arena[start - 1])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_use_is_found_among_many() {
        let mut identifiers = Identifiers::default();
        let name = |n: u32| Identifier::new(&format!("w{n}")).expect("an identifier");
        assert!((0..10_000).all(|n| identifiers.insert(&name(n))));
        assert!(!identifiers.insert(&name(7777)));
        assert!(identifiers.insert(&name(10_000)));
        // a prefix of a stored one is another one
        assert!(identifiers.insert(&Identifier::new("w").expect("an identifier")));
    }
}

//! Every microbatch identifier of the run, exactly, so that a second use is found and no other is called one.
use crate::manifest::identifier::Identifier;
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Where an identifier is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) rank: u64,
    /// The event's index on the rank.
    pub(super) index: u64,
    pub(super) window: u64,
}

/// A set of identifiers: their bytes in one arena, and a table of where each lies in it.
#[derive(Default)]
pub(super) struct Identifiers {
    arena: Vec<u8>,
    table: HashTable<Stored>,
    /// In the arena and not yet in the table.
    fresh: Vec<(Stored, Use)>,
    /// Keyed at random, so that no manifest can be made to collide; nothing depends on its order.
    hasher: DefaultHashBuilder,
}

/// Identifiers that are looked up together. Each meets the table at a random place, which is seldom in a cache; with
/// nothing else between them the processor waits for several at once. Worth 11 % of the time that a run takes.
const TOGETHER: usize = 64;

/// Where an identifier lies, and part of its hash, so that neither growing nor a near miss reads the arena. One word:
/// the table is met at random places, and the fewer cache lines it has the better.
#[derive(Clone, Copy)]
struct Stored(u64);

impl Stored {
    /// Bits of the offset: an arena of 64 GiB.
    const OFFSET: u32 = 36;

    fn new(hash: u64, at: usize) -> Self {
        assert!(at >> Stored::OFFSET == 0, "bug: more than 64 GiB of identifiers are held in memory");
        Stored(hash << Stored::OFFSET | at as u64)
    }

    /// What the table sorts by: the kept part of the hash, spread over all bits again.
    fn spread(self) -> u64 {
        (self.0 >> Stored::OFFSET).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    /// The identifier; its offset is that of the byte with its length, 1 to 128.
    fn bytes(self, arena: &[u8]) -> &[u8] {
        let at = (self.0 & ((1 << Stored::OFFSET) - 1)) as usize;
        &arena[at + 1..=at + usize::from(arena[at])]
    }
}

impl Identifiers {
    /// Takes in an identifier; gives the second uses that have been found by now, in the order in which they came.
    pub(super) fn insert(&mut self, identifier: &Identifier, used: Use) -> Vec<(String, Use)> {
        let bytes = identifier.as_str().as_bytes();
        self.fresh.push((Stored::new(self.hasher.hash_one(bytes), self.arena.len()), used));
        self.arena.push(u8::try_from(bytes.len()).expect("bug: an identifier of over 255 bytes"));
        self.arena.extend_from_slice(bytes);
        if self.fresh.len() < TOGETHER { Vec::new() } else { self.settle() }
    }

    /// Looks up those that have not been; gives the second uses among them.
    pub(super) fn settle(&mut self) -> Vec<(String, Use)> {
        let Identifiers { arena, table, fresh, .. } = self;
        let second = |(new, used): (Stored, Use)| {
            let is_same = |old: &Stored| old.spread() == new.spread() && old.bytes(arena) == new.bytes(arena);
            match table.entry(new.spread(), is_same, |old| old.spread()) {
                Entry::Occupied(_) => Some((String::from_utf8_lossy(new.bytes(arena)).into_owned(), used)),
                Entry::Vacant(vacant) => {
                    vacant.insert(new);
                    None
                }
            }
        };
        fresh.drain(..).filter_map(second).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_use_is_found_among_many() {
        let mut identifiers = Identifiers::default();
        let name = |n: u64| Identifier::new(&format!("w{n}")).expect("an identifier");
        let used = |index| Use { rank: 0, index, window: 0 };
        assert!((0..10_000).all(|n| identifiers.insert(&name(n), used(n)).is_empty()));
        assert!(identifiers.settle().is_empty());
        // One of long ago, a new one, that one at once again, and a prefix of a stored one, which is another one.
        let more = [name(7777), name(10_000), name(10_000), Identifier::new("w").expect("an identifier")];
        let mut second = more.iter().zip(20_000..).flat_map(|(name, index)| identifiers.insert(name, used(index)));
        assert_eq!(second.next(), None, "they are looked up together");
        let expected = [("w7777".to_owned(), used(20_000)), ("w10000".to_owned(), used(20_002))];
        assert_eq!(identifiers.settle(), expected);
        assert!(identifiers.settle().is_empty());
    }
}

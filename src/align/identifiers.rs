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

/// A set of identifiers: their bytes in one arena, and tables of where each lies in it.
///
/// Each identifier meets its table at a random place. One table of a long run would be in no cache; so there are many
/// small ones, and each is met by several identifiers together, for which it is in the cache once.
pub(super) struct Identifiers {
    arena: Vec<u8>,
    shards: [Shard; SHARDS],
    /// The second uses found so far.
    second: Vec<(Stored, Use)>,
    /// Keyed at random, so that no manifest can be made to collide; nothing depends on its order.
    hasher: DefaultHashBuilder,
}

const SHARDS: usize = 256;

/// Identifiers that are looked up together.
const TOGETHER: usize = 64;

/// The identifiers of which a part of the hash is the same.
#[derive(Default)]
struct Shard {
    table: HashTable<Stored>,
    /// In the arena and not yet in the table.
    fresh: Vec<(Stored, Use)>,
}

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

    fn offset(self) -> usize {
        (self.0 & ((1 << Stored::OFFSET) - 1)) as usize
    }

    /// The identifier; its offset is that of the byte with its length, 1 to 128.
    fn bytes(self, arena: &[u8]) -> &[u8] {
        let at = self.offset();
        &arena[at + 1..=at + usize::from(arena[at])]
    }
}

impl Identifiers {
    /// None at all.
    pub(super) fn new() -> Self {
        Identifiers {
            arena: Vec::new(),
            shards: std::array::from_fn(|_| Shard::default()),
            second: Vec::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// Takes in an identifier.
    pub(super) fn insert(&mut self, identifier: &Identifier, used: Use) {
        let bytes = identifier.as_str().as_bytes();
        let hash = self.hasher.hash_one(bytes);
        let stored = Stored::new(hash, self.arena.len());
        self.arena.push(u8::try_from(bytes.len()).expect("bug: an identifier of over 255 bytes"));
        self.arena.extend_from_slice(bytes);
        let shard = &mut self.shards[(hash >> 32) as usize % SHARDS];
        shard.fresh.push((stored, used));
        if shard.fresh.len() == TOGETHER {
            shard.settle(&self.arena, &mut self.second);
        }
    }

    /// The identifiers that were taken in before, and where they are used again, in the order in which they came; each
    /// is given once.
    pub(super) fn take_second_uses(&mut self) -> impl Iterator<Item = (String, Use)> {
        let Identifiers { arena, shards, second, .. } = self;
        shards.iter_mut().for_each(|shard| shard.settle(arena, second));
        second.sort_unstable_by_key(|(stored, _)| stored.offset());
        second.drain(..).map(|(stored, used)| (String::from_utf8_lossy(stored.bytes(arena)).into_owned(), used))
    }
}

impl Shard {
    /// Looks up those that have not been.
    fn settle(&mut self, arena: &[u8], second: &mut Vec<(Stored, Use)>) {
        for (new, used) in self.fresh.drain(..) {
            let is_same = |old: &Stored| old.spread() == new.spread() && old.bytes(arena) == new.bytes(arena);
            match self.table.entry(new.spread(), is_same, |old| old.spread()) {
                Entry::Occupied(_) => second.push((new, used)),
                Entry::Vacant(vacant) => drop(vacant.insert(new)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_use_is_found_among_many() {
        let mut identifiers = Identifiers::new();
        let name = |n: u64| Identifier::new(&format!("w{n}")).expect("an identifier");
        let used = |index| Use { rank: 0, index, window: 0 };
        (0..50_000).for_each(|n| identifiers.insert(&name(n), used(n)));
        assert_eq!(identifiers.take_second_uses().count(), 0);
        // Some of long ago, a new one, that one at once again, and a prefix of a stored one, which is another one.
        let more = [name(7777), name(50_000), name(50_000), Identifier::new("w").expect("an identifier"), name(31)];
        more.iter().zip(60_000..).for_each(|(name, index)| identifiers.insert(name, used(index)));
        let expected = [("w7777", 60_000), ("w50000", 60_002), ("w31", 60_004)];
        let expected = expected.map(|(name, index)| (name.to_owned(), used(index)));
        assert!(identifiers.take_second_uses().eq(expected));
        assert_eq!(identifiers.take_second_uses().count(), 0);
    }
}

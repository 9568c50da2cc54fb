//! Synthetic rows with exactly the declared targets (`docs/method.md`, "Synthetic rows").
//!
//! Every byte is known from seed, window, rank, microbatch index, row and position alone, so that another program can
//! make the same rows. Nothing of the user's data is needed.
use crate::autograd::rows::Rows;
use crate::decoder::microbatch::BEGIN;
use crate::decoder::microbatch::Microbatch;
use crate::numeric::random::GOLDEN_GAMMA;
use crate::numeric::random::mix;

/// Positions that go through the decoder in one pass: a larger batch is computed in slices of whole rows, whose
/// gradients add up, so that memory does not grow with the batch.
const SLICE: usize = 512;

/// In place of a position that no row has: what comes of it seeds random words.
const WORDS: u64 = 1 << 53;

/// Makes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Of all words.
    pub seed: u64,
    /// The longest row.
    pub context: usize,
}

/// A microbatch that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The window's index.
    pub window: u64,
    /// The rank.
    pub rank: u64,
    /// Index among the rank's microbatches of the window.
    pub index: u64,
    /// n.
    pub targets: u64,
}

impl Source {
    /// Byte `j` of a row: h mod 256, where h starts at the seed and takes in one number after the other by
    /// h ← mix(h + γ·(x + 1)), mix and γ those of SplitMix64.
    pub fn byte(self, batch: Batch, row: u64, j: u64) -> u32 {
        (take_in(self.row(batch, row), j) % 256) as u32
    }

    /// h before a row's positions.
    fn row(self, batch: Batch, row: u64) -> u64 {
        [batch.window, batch.rank, batch.index, row].into_iter().fold(self.seed, take_in)
    }

    /// The batches' rows, in order, a slice of positions at a time. A row holds BOS and then bytes; inputs are all but
    /// the last, targets all but the first. Every row is full but the last of each batch.
    pub fn slices(self, batches: impl IntoIterator<Item = Batch>, mut take: impl FnMut(&Microbatch) -> bool) {
        let mut slice = Slice::default();
        for batch in batches {
            let mut left = batch.targets;
            for row in 0_u64.. {
                if left == 0 {
                    break;
                }
                let length = left.min(self.context as u64);
                left -= length;
                if slice.ids.len() + length as usize > SLICE && !slice.lengths.is_empty() && !take(&slice.take()) {
                    return;
                }
                let h = self.row(batch, row);
                slice.push(BEGIN, (0..length).map(|j| (take_in(h, j) % 256) as u32));
            }
        }
        if !slice.lengths.is_empty() {
            take(&slice.take());
        }
    }

    /// The same rows one by one, each with the seed of its own random words, so that no word depends on what else goes
    /// through the decoder.
    pub fn rows(self, batches: impl IntoIterator<Item = Batch>, mut take: impl FnMut(u64, &Microbatch) -> bool) {
        for batch in batches {
            let rows = batch.targets.div_ceil(self.context as u64);
            for row in 0..rows {
                let length = (batch.targets - row * self.context as u64).min(self.context as u64);
                let h = self.row(batch, row);
                let mut slice = Slice::default();
                slice.push(BEGIN, (0..length).map(|j| (take_in(h, j) % 256) as u32));
                if !take(take_in(h, WORDS), &slice.take()) {
                    return;
                }
            }
        }
    }

    /// The seed of the random words of a whole microbatch.
    pub fn words(self, batch: Batch) -> u64 {
        [batch.window, batch.rank, batch.index, WORDS].into_iter().fold(self.seed, take_in)
    }
}

/// h with one more number in it.
fn take_in(h: u64, x: u64) -> u64 {
    mix(h.wrapping_add(GOLDEN_GAMMA.wrapping_mul(x.wrapping_add(1))))
}

/// Rows on their way into one pass.
#[derive(Default)]
struct Slice {
    ids: Vec<u32>,
    targets: Vec<Option<u32>>,
    lengths: Vec<usize>,
}

impl Slice {
    fn push(&mut self, first: u32, bytes: impl Iterator<Item = u32>) {
        let before = self.targets.len();
        self.targets.extend(bytes.map(Some));
        self.ids.push(first);
        let inputs = &self.targets[before..self.targets.len() - 1];
        self.ids.extend(inputs.iter().flatten());
        self.lengths.push(self.targets.len() - before);
    }

    fn take(&mut self) -> Microbatch {
        let Slice { ids, targets, lengths } = std::mem::take(self);
        Microbatch::new(ids, targets, Rows::packed(&lengths)).expect("bug: as many ids as targets")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: Source = Source { seed: 39, context: 8 };

    fn batch(targets: u64) -> Batch {
        Batch { window: 2, rank: 1, index: 3, targets }
    }

    fn made(batches: &[Batch]) -> Vec<Microbatch> {
        let mut slices = Vec::new();
        SOURCE.slices(batches.iter().copied(), |slice| {
            slices.push(slice.clone());
            true
        });
        slices
    }

    #[test]
    fn rows_hold_exactly_the_targets_shifted() {
        let [microbatch] = &made(&[batch(11)])[..] else { panic!("one slice") };
        assert_eq!(microbatch.valid_targets(), 11);
        let rows: Vec<_> = microbatch.rows().iter().collect();
        assert_eq!(rows, [0..8, 8..11]);
        let byte = |row, j| SOURCE.byte(batch(11), row, j);
        assert_eq!(microbatch.ids()[8..], [BEGIN, byte(1, 0), byte(1, 1)]);
        assert_eq!(microbatch.targets()[8..], [Some(byte(1, 0)), Some(byte(1, 1)), Some(byte(1, 2))]);
        assert_eq!(microbatch.targets()[7], Some(byte(0, 7)));
    }

    #[test]
    fn every_coordinate_reaches_a_byte() {
        let words = |batch: Batch, row| (0..8).map(|j| SOURCE.byte(batch, row, j)).collect::<Vec<_>>();
        let own = words(batch(8), 0);
        let others = [
            words(Batch { window: 3, ..batch(8) }, 0),
            words(Batch { rank: 0, ..batch(8) }, 0),
            words(Batch { index: 2, ..batch(8) }, 0),
            words(batch(8), 1),
        ];
        assert!(others.iter().all(|other| *other != own));
        assert_ne!(Source { seed: 40, ..SOURCE }.byte(batch(8), 0, 0), own[0]);
    }

    #[test]
    fn rows_alone_are_the_slices_rows() {
        let batches = [batch(19), Batch { index: 4, ..batch(3) }];
        let (mut ids, mut seeds) = (Vec::new(), Vec::new());
        SOURCE.rows(batches, |seed, row| {
            ids.extend_from_slice(row.ids());
            seeds.push(seed);
            true
        });
        let slices = made(&batches);
        assert_eq!(ids, slices.iter().flat_map(Microbatch::ids).copied().collect::<Vec<_>>());
        seeds.push(SOURCE.words(batch(19)));
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 5, "four rows and a microbatch have words of their own");
    }

    #[test]
    fn large_batches_come_in_slices_of_whole_rows() {
        let slices = made(&[batch(700), Batch { index: 4, ..batch(5) }]);
        let targets: Vec<u64> = slices.iter().map(Microbatch::valid_targets).collect();
        assert_eq!(targets, [512, 193]);
        assert_eq!(slices[1].rows().iter().last(), Some(188..193));
        let mut seen = 0;
        SOURCE.slices([batch(2000)], |_| {
            seen += 1;
            false
        });
        assert_eq!(seen, 1, "whoever takes slices can stop");
    }
}

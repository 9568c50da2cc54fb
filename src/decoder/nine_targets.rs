//! The example that is known in every digit: three texts with 2, 4 and 3 targets.

use crate::decoder::microbatch::Microbatch;

/// The texts, one to a row.
pub const TEXTS: [&str; 3] = ["hi", "loss", "sum"];

/// All rows as one batch: the grid [3, 4] with 9 targets.
#[must_use]
pub fn full_batch() -> Microbatch {
    Microbatch::of_texts(&TEXTS)
}

/// Microbatches of at most `row_limit` rows each. With 2: the grids [2, 4] and [1, 3] with 6 and 3 targets.
///
/// # Panics
/// Where the limit is 0, which is a bug of the caller.
#[must_use]
pub fn microbatches(row_limit: usize) -> Vec<Microbatch> {
    assert!(row_limit > 0, "bug: microbatches of no row");
    TEXTS.chunks(row_limit).map(Microbatch::of_texts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_and_counts() {
        let shape = |row_limit| -> Vec<([usize; 2], u64)> {
            microbatches(row_limit).iter().map(|m| (m.grid(), m.valid_targets())).collect()
        };
        assert_eq!(shape(1), [([1, 2], 2), ([1, 4], 4), ([1, 3], 3)]);
        assert_eq!(shape(2), [([2, 4], 6), ([1, 3], 3)]);
        assert_eq!(shape(3), [([3, 4], 9)]);
        assert_eq!(microbatches(3), [full_batch()]);
    }
}

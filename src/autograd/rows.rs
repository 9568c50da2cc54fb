//! How the positions of a batch are divided into rows (sequences).

use std::ops::Range;

/// Consecutive rows of positions. A padded grid has equal lengths; packed rows may differ. Attention does not cross a
/// row's end, and rotary positions start at 0 in every row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Where each row begins, and after the last one where it ends.
    bounds: Vec<usize>,
}

impl Rows {
    /// Rows of the given lengths, one after the other.
    #[must_use]
    pub fn packed(lengths: &[usize]) -> Self {
        let mut bounds = Vec::with_capacity(lengths.len() + 1);
        bounds.push(0);
        for length in lengths {
            bounds.push(bounds[bounds.len() - 1] + length);
        }
        Self { bounds }
    }

    /// `count` rows of `length` positions: the grid `[count, length]`.
    #[must_use]
    pub fn grid(count: usize, length: usize) -> Self {
        Self { bounds: (0..=count).map(|row| row * length).collect() }
    }

    /// Number of rows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Number of positions over all rows.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.bounds[self.bounds.len() - 1]
    }

    /// Length of the longest row, 0 where there is none.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.iter().map(|row| row.len()).max().unwrap_or(0)
    }

    /// Where each row begins, and after the last one where it ends.
    pub(super) fn bounds(&self) -> &[usize] {
        &self.bounds
    }

    /// The positions of each row.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Range<usize>> + '_ {
        self.bounds.windows(2).map(|pair| pair[0]..pair[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_equal_packed_rows() {
        let grid = Rows::grid(2, 4);
        assert_eq!(grid, Rows::packed(&[4, 4]));
        assert_eq!((grid.count(), grid.positions(), grid.longest()), (2, 8, 4));
        assert_eq!(grid.iter().collect::<Vec<_>>(), [0..4, 4..8]);
    }

    #[test]
    fn packed_rows_differ_in_length() {
        let rows = Rows::packed(&[2, 0, 3]);
        assert_eq!(rows.iter().collect::<Vec<_>>(), [0..2, 2..2, 2..5]);
        assert_eq!((rows.positions(), rows.longest(), Rows::packed(&[]).longest()), (5, 3, 0));
    }
}

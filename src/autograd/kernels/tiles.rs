//! Tiles of a matrix product: 4 rows by as many columns as the registers hold.
//!
//! The widest vector unit at hand does the work, with the same bits: a vector only ever holds outputs that have
//! nothing to do with each other, and LLVM fuses no multiplication with an addition unless told to.

use crate::autograd::kernels::product::{Factor, Product, Start};
use crate::numeric::vector::{self, Kernel};

/// Depth of a packed panel of the right factor: with 8 columns a quarter of a 32 KiB first-level cache.
const DEEP: usize = 128;
/// The same for shallow products, where clearing the deep panel would cost more than the product.
const SHALLOW: usize = 16;
/// How the left factor is read: its rows are contiguous.
const BY_ROWS: u8 = 0;
/// Its columns are contiguous.
const BY_COLUMNS: u8 = 1;
/// Its columns were copied into tiles.
const PACKED: u8 = 2;
/// Rows from which copying columns of the left factor side by side pays.
const TALL: usize = 64;
/// The same for the default decoder's, shallower still.
const FLAT: usize = 8;

/// For plain sums of all terms, k above 0.
pub(super) fn multiply(product: Product<'_>) {
    vector::on_widest(Tiled(product));
}

struct Tiled<'a>(Product<'a>);

impl Kernel for Tiled<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const WIDE: bool>(self) {
        let Self(product) = self;
        match (WIDE && product.size.n > 4, product.size.k) {
            (true, ..=FLAT) => product.by_layout::<8, FLAT>(),
            (true, ..=SHALLOW) => product.by_layout::<8, SHALLOW>(),
            (true, _) => product.by_layout::<8, DEEP>(),
            (false, ..=FLAT) => product.by_layout::<4, FLAT>(),
            (false, ..=SHALLOW) => product.by_layout::<4, SHALLOW>(),
            (false, _) => product.by_layout::<4, DEEP>(),
        }
    }
}

impl Product<'_> {
    /// One loop for each layout of the left factor: with all in one the compiler spills the sums.
    #[inline(always)]
    fn by_layout<const COLUMNS: usize, const PANEL: usize>(self) {
        if self.a.column_stride == 1 {
            self.blocks::<COLUMNS, PANEL, BY_ROWS>();
        } else if PANEL == DEEP && self.size.m >= TALL {
            self.blocks::<COLUMNS, PANEL, PACKED>();
        } else {
            self.blocks::<COLUMNS, PANEL, BY_COLUMNS>();
        }
    }

    /// Panels of the right factor, packed, against tiles of rows of the left.
    #[inline(always)]
    fn blocks<const COLUMNS: usize, const PANEL: usize, const LEFT: u8>(mut self) {
        let mut panel = [[0.0; COLUMNS]; PANEL];
        let mut packed = Vec::new();
        for depth in (0..self.size.k).step_by(PANEL) {
            let panel = &mut panel[..PANEL.min(self.size.k - depth)];
            if LEFT == PACKED {
                self.pack_left(&mut packed, depth, panel.len());
            }
            for column in (0..self.size.n).step_by(COLUMNS) {
                let width = COLUMNS.min(self.size.n - column);
                pack(panel, self.b, depth, column, width);
                let mut row = 0;
                while row < self.size.m {
                    let place = Place { row, column, depth, width };
                    row += match self.size.m - row {
                        1 => self.rest::<1, COLUMNS, LEFT>(panel, place),
                        2 => self.rest::<2, COLUMNS, LEFT>(panel, place),
                        3 => self.rest::<3, COLUMNS, LEFT>(panel, place),
                        _ => self.tile::<4, COLUMNS, LEFT>(&packed, panel, place),
                    };
                }
            }
        }
    }

    /// Copies columns of the left factor, which lie far apart, into tiles of 4 rows. Where they are 4 KiB apart they
    /// would push each other out of the cache. This is the one allocation of a product, for deep ones only.
    #[inline(always)]
    fn pack_left(&self, packed: &mut Vec<[f64; 4]>, depth: usize, len: usize) {
        packed.clear();
        packed.reserve(self.size.m / 4 * len);
        for row in (0..self.size.m - self.size.m % 4).step_by(4) {
            packed.extend((depth..depth + len).map(|k| {
                let column = &self.a.values[self.a.at(row, k)..][..4];
                [column[0], column[1], column[2], column[3]]
            }));
        }
    }

    /// A tile of fewer than 4 rows, which are never packed.
    #[inline(always)]
    fn rest<const ROWS: usize, const COLUMNS: usize, const LEFT: u8>(
        &mut self,
        panel: &[[f64; COLUMNS]],
        place: Place,
    ) -> usize {
        if LEFT == BY_ROWS {
            self.tile::<ROWS, COLUMNS, BY_ROWS>(&[], panel, place)
        } else {
            self.tile::<ROWS, COLUMNS, BY_COLUMNS>(&[], panel, place)
        }
    }

    /// `ROWS` × `COLUMNS` outputs at once; returns `ROWS`.
    #[inline(always)]
    fn tile<const ROWS: usize, const COLUMNS: usize, const LEFT: u8>(
        &mut self,
        packed: &[[f64; ROWS]],
        panel: &[[f64; COLUMNS]],
        place: Place,
    ) -> usize {
        let mut sums = [[0.0; COLUMNS]; ROWS];
        if self.start == Start::Out || place.depth > 0 {
            self.load(&mut sums, place);
        }
        let a = self.a;
        // Two steps at a time: so the compiler keeps the sums in registers.
        let (pairs, rest) = panel.as_chunks::<2>();
        if LEFT == BY_ROWS {
            let mut rows: [&[f64]; ROWS] = [&[]; ROWS];
            for (r, row) in rows.iter_mut().enumerate() {
                *row = &a.values[a.at(place.row + r, place.depth)..][..panel.len()];
            }
            for (pair, b) in pairs.iter().enumerate() {
                let steps: [&[f64; 2]; ROWS] = std::array::from_fn(|r| &rows[r].as_chunks().0[pair]);
                accumulate(&mut sums, std::array::from_fn(|r| steps[r][0]), &b[0]);
                accumulate(&mut sums, std::array::from_fn(|r| steps[r][1]), &b[1]);
            }
            if let [b] = rest {
                accumulate(&mut sums, std::array::from_fn(|r| rows[r][panel.len() - 1]), b);
            }
        } else {
            let (values, stride) = if LEFT == PACKED {
                (packed[place.row / ROWS * panel.len()..].as_flattened(), ROWS)
            } else {
                (&a.values[a.at(place.row, place.depth)..], a.column_stride)
            };
            for (pair, b) in pairs.iter().enumerate() {
                let x = &values[2 * pair * stride..][..ROWS];
                let y = &values[(2 * pair + 1) * stride..][..ROWS];
                accumulate(&mut sums, std::array::from_fn(|r| x[r]), &b[0]);
                accumulate(&mut sums, std::array::from_fn(|r| y[r]), &b[1]);
            }
            if let [b] = rest {
                let x = &values[(panel.len() - 1) * stride..][..ROWS];
                accumulate(&mut sums, std::array::from_fn(|r| x[r]), b);
            }
        }
        self.store(&sums, place);
        ROWS
    }

    #[inline(always)]
    fn load<const ROWS: usize, const COLUMNS: usize>(&self, sums: &mut [[f64; COLUMNS]; ROWS], place: Place) {
        for (r, sums) in sums.iter_mut().enumerate() {
            let row = &self.out[(place.row + r) * self.stride + place.column..][..place.width];
            match <&[f64; COLUMNS]>::try_from(row) {
                Ok(whole) => *sums = *whole,
                Err(_) => sums[..place.width].copy_from_slice(row),
            }
        }
    }

    #[inline(always)]
    fn store<const ROWS: usize, const COLUMNS: usize>(&mut self, sums: &[[f64; COLUMNS]; ROWS], place: Place) {
        for (r, sums) in sums.iter().enumerate() {
            let row = &mut self.out[(place.row + r) * self.stride + place.column..][..place.width];
            match <&mut [f64; COLUMNS]>::try_from(&mut *row) {
                Ok(whole) => *whole = *sums,
                Err(_) => row.copy_from_slice(&sums[..place.width]),
            }
        }
    }
}

/// Where a tile stands: its first row and column, the first k, and how many columns there are.
#[derive(Clone, Copy)]
struct Place {
    row: usize,
    column: usize,
    depth: usize,
    width: usize,
}

/// Copies columns of the right factor side by side; columns beyond `width` keep what they had and are not stored.
#[inline(always)]
fn pack<const COLUMNS: usize>(panel: &mut [[f64; COLUMNS]], b: Factor<'_>, depth: usize, column: usize, width: usize) {
    if b.column_stride == 1 {
        for (k, packed) in panel.iter_mut().enumerate() {
            let row = &b.values[b.at(depth + k, column)..][..width];
            match <&[f64; COLUMNS]>::try_from(row) {
                Ok(whole) => *packed = *whole,
                Err(_) => packed[..width].copy_from_slice(row),
            }
        }
    } else {
        for j in 0..width {
            let run = &b.values[b.at(depth, column + j)..][..panel.len()];
            panel.iter_mut().zip(run).for_each(|(packed, x)| packed[j] = *x);
        }
    }
}

#[inline(always)]
fn accumulate<const ROWS: usize, const COLUMNS: usize>(
    sums: &mut [[f64; COLUMNS]; ROWS],
    a: [f64; ROWS],
    b: &[f64; COLUMNS],
) {
    for (sums, x) in sums.iter_mut().zip(a) {
        for (sum, y) in sums.iter_mut().zip(b) {
            *sum += x * y;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autograd::kernels::product::tests::same_bits_on_every_unit;
    use crate::autograd::kernels::product::{Sums, Terms};

    #[test]
    fn every_vector_unit_gives_the_same_bits() {
        let sizes = [(5, 7, 3), (6, 266, 4), (13, 19, 140), (66, 40, 33)];
        same_bits_on_every_unit(&sizes, &[(Terms::All, Sums::Plain)], multiply, |product| {
            vector::on_each(|| Tiled(product()))
        });
    }
}

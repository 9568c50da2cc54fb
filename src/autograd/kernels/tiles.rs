//! Tiles of a matrix product: 4 rows by as many columns as the registers hold.
//!
//! The widest vector unit at hand does the work, with the same bits: a vector only ever holds outputs that have
//! nothing to do with each other, and LLVM fuses no multiplication with an addition unless told to.

use crate::autograd::kernels::product::{Factor, Size};
use crate::numeric::vector::{self, Kernel};

/// Depth of a packed panel of the right factor: with 8 columns a quarter of a 32 KiB first-level cache.
const DEEP: usize = 128;
/// The same for shallow products, where clearing the deep panel would cost more than the product.
const SHALLOW: usize = 16;
/// Columns and depth up to which wide registers would be mostly empty.
const NARROW: usize = 8;

/// `out += a · b`, where rows of `out` lie `stride` apart.
pub(super) fn add(out: &mut [f64], stride: usize, a: Factor<'_>, b: Factor<'_>, size: Size) {
    if size.n <= NARROW && size.k <= NARROW {
        return blocks::<4, NARROW>(out, stride, a, b, size);
    }
    vector::on_widest(Product { out, stride, a, b, size });
}

struct Product<'a> {
    out: &'a mut [f64],
    stride: usize,
    a: Factor<'a>,
    b: Factor<'a>,
    size: Size,
}

impl Kernel for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const WIDE: bool>(self) {
        let Self { out, stride, a, b, size } = self;
        match (WIDE, size.k <= SHALLOW) {
            (true, true) => blocks::<8, SHALLOW>(out, stride, a, b, size),
            (true, false) => blocks::<8, DEEP>(out, stride, a, b, size),
            (false, true) => blocks::<4, SHALLOW>(out, stride, a, b, size),
            (false, false) => blocks::<4, DEEP>(out, stride, a, b, size),
        }
    }
}

/// Panels of the right factor, packed, against tiles of rows of the left.
#[inline(always)]
fn blocks<const COLUMNS: usize, const PANEL: usize>(
    out: &mut [f64],
    stride: usize,
    a: Factor<'_>,
    b: Factor<'_>,
    size: Size,
) {
    let mut panel = [[0.0; COLUMNS]; PANEL];
    for column in (0..size.n).step_by(COLUMNS) {
        let width = COLUMNS.min(size.n - column);
        for depth in (0..size.k).step_by(PANEL) {
            let panel = &mut panel[..PANEL.min(size.k - depth)];
            pack(panel, b, depth, column, width);
            let mut row = 0;
            while row < size.m {
                let place = Place { row, column, depth, width };
                row += match size.m - row {
                    1 => tile::<1, COLUMNS>(out, stride, a, panel, place),
                    2 => tile::<2, COLUMNS>(out, stride, a, panel, place),
                    3 => tile::<3, COLUMNS>(out, stride, a, panel, place),
                    _ => tile::<4, COLUMNS>(out, stride, a, panel, place),
                };
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

/// `ROWS` × `COLUMNS` outputs at once; returns `ROWS`.
#[inline(always)]
fn tile<const ROWS: usize, const COLUMNS: usize>(
    out: &mut [f64],
    stride: usize,
    a: Factor<'_>,
    panel: &[[f64; COLUMNS]],
    place: Place,
) -> usize {
    let mut sums = [[0.0; COLUMNS]; ROWS];
    for (r, sums) in sums.iter_mut().enumerate() {
        let row = &out[(place.row + r) * stride + place.column..][..place.width];
        match <&[f64; COLUMNS]>::try_from(row) {
            Ok(whole) => *sums = *whole,
            Err(_) => sums[..place.width].copy_from_slice(row),
        }
    }
    if a.column_stride == 1 {
        let rows: [&[f64]; ROWS] =
            std::array::from_fn(|r| &a.values[a.at(place.row + r, place.depth)..][..panel.len()]);
        // Two steps at a time: so the compiler keeps the sums in registers.
        let (pairs, rest) = panel.as_chunks::<2>();
        for (pair, b) in pairs.iter().enumerate() {
            let steps: [&[f64; 2]; ROWS] = std::array::from_fn(|r| &rows[r].as_chunks().0[pair]);
            accumulate(&mut sums, std::array::from_fn(|r| steps[r][0]), &b[0]);
            accumulate(&mut sums, std::array::from_fn(|r| steps[r][1]), &b[1]);
        }
        if let [b] = rest {
            accumulate(&mut sums, std::array::from_fn(|r| rows[r][panel.len() - 1]), b);
        }
    } else {
        for (k, b) in panel.iter().enumerate() {
            let column = &a.values[a.at(place.row, place.depth + k)..][..ROWS];
            accumulate(&mut sums, std::array::from_fn(|r| column[r]), b);
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        let row = &mut out[(place.row + r) * stride + place.column..][..place.width];
        match <&mut [f64; COLUMNS]>::try_from(&mut *row) {
            Ok(whole) => *whole = *sums,
            Err(_) => row.copy_from_slice(&sums[..place.width]),
        }
    }
    ROWS
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
    use crate::numeric::random::SplitMix64;

    #[test]
    fn every_vector_unit_gives_the_same_bits() {
        let mut stream = SplitMix64::new(11);
        for (m, n, k) in [(5, 7, 3), (6, 266, 4), (13, 19, 140), (66, 40, 33)] {
            let size = Size { m, n, k };
            let mut draw = |len: usize| -> Vec<f64> { (0..len).map(|_| stream.symmetric()).collect() };
            let (x, y, start) = (draw(m * k), draw(k * n), draw(m * n));
            for (a, b) in [
                (Factor::new(&x, k), Factor::new(&y, n)),
                (Factor::new(&x, k), Factor::transposed(&y, k)),
                (Factor::transposed(&x, m), Factor::new(&y, n)),
            ] {
                let mut outputs: [Vec<f64>; 4] = std::array::from_fn(|_| start.clone());
                add(&mut outputs[0], n, a, b, size);
                let mut others = outputs[1..].iter_mut();
                let units = vector::on_each(|| Product { out: others.next().unwrap(), stride: n, a, b, size });
                for ((name, ()), output) in units.iter().zip(&outputs[1..]) {
                    assert_eq!(*output, outputs[0], "{name}: {size:?}");
                }
            }
        }
    }
}

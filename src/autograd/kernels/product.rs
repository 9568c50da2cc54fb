//! Matrix products in tiles: every output element is `(((c + a₀b₀) + a₁b₁) + …)` in ascending k, with a rounding after
//! each multiplication and each addition.
//!
//! Vector units work across independent outputs and threads across rows, so neither the CPU, the number of threads,
//! nor which other rows are in the batch changes a bit. That is why this is written here: the `gemm` crate gives a row
//! alone another result than in a batch, and `matrixmultiply` fuses multiply and add where the CPU can.

use crate::autograd::kernels::threads;

/// Depth of a packed panel of the right factor: with 16 columns it is half of a 32 KiB first-level cache.
const DEPTH: usize = 128;
/// The same for shallow products, where clearing the deep panel would cost more than the product.
const SHALLOW: usize = 16;
/// Multiplications below which plain loops beat packing.
const SMALL: usize = 1024;

/// A matrix somewhere in a slice: element (i, j) at `i · row_stride + j · column_stride`. One of the strides is 1.
#[derive(Clone, Copy, Debug)]
pub(in crate::autograd) struct Factor<'a> {
    values: &'a [f64],
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Factor<'a> {
    /// Rows `stride` apart, columns adjacent.
    pub(in crate::autograd) fn new(values: &'a [f64], stride: usize) -> Self {
        Self { values, row_stride: stride, column_stride: 1 }
    }

    /// The transpose of [`Self::new`].
    pub(in crate::autograd) fn transposed(values: &'a [f64], stride: usize) -> Self {
        Self { values, row_stride: 1, column_stride: stride }
    }

    fn at(&self, row: usize, column: usize) -> usize {
        row * self.row_stride + column * self.column_stride
    }

    fn skip_rows(self, rows: usize) -> Self {
        Self { values: &self.values[(rows * self.row_stride).min(self.values.len())..], ..self }
    }
}

/// Rows and columns of the output, and length of the summed axis.
#[derive(Clone, Copy, Debug)]
pub(in crate::autograd) struct Size {
    pub(in crate::autograd) m: usize,
    pub(in crate::autograd) n: usize,
    pub(in crate::autograd) k: usize,
}

/// `out = a · b` for an output without gaps, on up to `threads` threads.
pub(in crate::autograd) fn write(out: &mut [f64], a: Factor<'_>, b: Factor<'_>, size: Size, threads: usize) {
    let Size { m, n, k } = size;
    assert_eq!(out.len(), m * n, "bug: {} elements for a product of {m} × {n}", out.len());
    threads::over_rows(threads, m * n * k, out, n, |first, rows| {
        rows.fill(0.0);
        add(rows, n, a.skip_rows(first), b, Size { m: rows.len() / n, n, k });
    });
}

/// `out += a · b`, where rows of `out` lie `stride` apart: each element goes on from what it holds.
pub(in crate::autograd) fn add(out: &mut [f64], stride: usize, a: Factor<'_>, b: Factor<'_>, size: Size) {
    if size.m * size.n * size.k <= SMALL {
        small(out, stride, a, b, size);
    } else if size.k <= SHALLOW {
        blocks::<4, 8, SHALLOW>(out, stride, a, b, size);
    } else {
        blocks::<4, 8, DEPTH>(out, stride, a, b, size);
    }
}

/// The definition, in loops.
fn small(out: &mut [f64], stride: usize, a: Factor<'_>, b: Factor<'_>, size: Size) {
    for i in 0..size.m {
        let row = &mut out[i * stride..][..size.n];
        for k in 0..size.k {
            let x = a.values[a.at(i, k)];
            if b.column_stride == 1 {
                let b = &b.values[b.at(k, 0)..][..size.n];
                row.iter_mut().zip(b).for_each(|(sum, y)| *sum += x * y);
            } else {
                let b = b.values[k..].iter().step_by(b.column_stride);
                row.iter_mut().zip(b).for_each(|(sum, y)| *sum += x * y);
            }
        }
    }
}

/// Panels of the right factor, packed, against tiles of rows of the left.
#[inline(always)]
fn blocks<const ROWS: usize, const COLUMNS: usize, const PANEL: usize>(
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
                    _ => tile::<ROWS, COLUMNS>(out, stride, a, panel, place),
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
        for (k, b) in panel.iter().enumerate() {
            accumulate(&mut sums, std::array::from_fn(|r| rows[r][k]), b);
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

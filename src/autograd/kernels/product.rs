//! Matrix products in tiles: every output element is `(((c + a₀b₀) + a₁b₁) + …)` in ascending k, with a rounding after
//! each multiplication and each addition.
//!
//! Vector units work across independent outputs and threads across rows, so neither the CPU, the number of threads,
//! nor which other rows are in the batch changes a bit. That is why this is written here: the `gemm` crate gives a row
//! alone another result than in a batch, and `matrixmultiply` fuses multiply and add where the CPU can.

use crate::autograd::kernels::{threads, tiles};

/// Multiplications below which plain loops beat packing.
const SMALL: usize = 32;

/// A matrix somewhere in a slice: element (i, j) at `i · row_stride + j · column_stride`. One of the strides is 1.
#[derive(Clone, Copy, Debug)]
pub(in crate::autograd) struct Factor<'a> {
    pub(super) values: &'a [f64],
    pub(super) row_stride: usize,
    pub(super) column_stride: usize,
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

    pub(super) fn at(&self, row: usize, column: usize) -> usize {
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
        if rows.is_empty() {
            return;
        }
        let size = Size { m: rows.len() / n, n, k };
        continue_from(Start::Zero, rows, n, a.skip_rows(first), b, size);
    });
}

/// `out += a · b`, where rows of `out` lie `stride` apart: each element goes on from what it holds.
pub(in crate::autograd) fn add(out: &mut [f64], stride: usize, a: Factor<'_>, b: Factor<'_>, size: Size) {
    continue_from(Start::Out, out, stride, a, b, size);
}

/// What the first product is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Nothing: what `out` holds does not matter.
    Zero,
    /// What `out` holds.
    Out,
}

fn continue_from(start: Start, out: &mut [f64], stride: usize, a: Factor<'_>, b: Factor<'_>, size: Size) {
    if size.m * size.n * size.k <= SMALL {
        small(start, out, stride, a, b, size);
    } else {
        tiles::multiply(start, out, stride, a, b, size);
    }
}

/// The definition, in loops.
fn small(start: Start, out: &mut [f64], stride: usize, a: Factor<'_>, b: Factor<'_>, size: Size) {
    for i in 0..size.m {
        let row = &mut out[i * stride..][..size.n];
        if start == Start::Zero {
            row.fill(0.0);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::random::SplitMix64;

    fn draw(stream: &mut SplitMix64, len: usize) -> Vec<f64> {
        (0..len).map(|_| stream.symmetric()).collect()
    }

    /// The written order of additions, from zero.
    fn definition(a: impl Fn(usize, usize) -> f64, b: impl Fn(usize, usize) -> f64, size: Size) -> Vec<f64> {
        let element = |i, j| (0..size.k).fold(0.0, |sum, k| sum + a(i, k) * b(k, j));
        (0..size.m).flat_map(|i| (0..size.n).map(move |j| (i, j))).map(|(i, j)| element(i, j)).collect()
    }

    /// Every layout and size, ragged ends and depths beyond a panel included, gives the bits of the definition, on one
    /// thread and on two.
    #[test]
    fn every_layout_has_the_bits_of_the_definition() {
        let mut stream = SplitMix64::new(3);
        for (m, n, k) in [
            (1, 1, 1),
            (2, 3, 5),
            (3, 5, 2),
            (6, 266, 4),
            (4, 8, 128),
            (9, 17, 300),
            (130, 70, 150),
            (5, 0, 3),
            (0, 4, 4),
        ] {
            let size = Size { m, n, k };
            let (x, y) = (draw(&mut stream, m * k), draw(&mut stream, k * n));
            let layouts = [
                (Factor::new(&x, k), Factor::new(&y, n), definition(|i, l| x[i * k + l], |l, j| y[l * n + j], size)),
                (
                    Factor::new(&x, k),
                    Factor::transposed(&y, k),
                    definition(|i, l| x[i * k + l], |l, j| y[j * k + l], size),
                ),
                (
                    Factor::transposed(&x, m),
                    Factor::new(&y, n),
                    definition(|i, l| x[l * m + i], |l, j| y[l * n + j], size),
                ),
            ];
            for (a, b, want) in layouts {
                for threads in [1, 2] {
                    let mut out = vec![f64::NAN; m * n];
                    write(&mut out, a, b, size, threads);
                    assert_eq!(out, want, "{size:?} on {threads} threads");
                }
            }
        }
    }

    /// A row alone has the bits that it has among others.
    #[test]
    fn a_row_does_not_feel_its_neighbours() {
        let mut stream = SplitMix64::new(4);
        let (m, n, k) = (7, 33, 40);
        let (x, w) = (draw(&mut stream, m * k), draw(&mut stream, n * k));
        let mut together = vec![0.0; m * n];
        write(&mut together, Factor::new(&x, k), Factor::transposed(&w, k), Size { m, n, k }, 1);
        for row in 0..m {
            let mut alone = vec![0.0; n];
            write(&mut alone, Factor::new(&x[row * k..], k), Factor::transposed(&w, k), Size { m: 1, n, k }, 1);
            assert_eq!(alone, together[row * n..][..n]);
        }
    }
}

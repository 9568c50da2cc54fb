//! Matrix products in tiles: every output element is `(((c + a₀b₀) + a₁b₁) + …)` in ascending k, with a rounding after
//! each multiplication and each addition. Short ones are mended by what those roundings took ([`Sums::Mended`]).
//!
//! Vector units work across independent outputs and threads across rows, so neither the CPU, the number of threads,
//! nor which other rows are in the batch changes a bit. That is why this is written here: the `gemm` crate gives a row
//! alone another result than in a batch, and `matrixmultiply` fuses multiply and add where the CPU can.

use crate::autograd::kernels::{row_wise, threads, tiles};
use crate::numeric::sum::{self, Halves};
use std::ops::Range;

/// Multiplications below which plain loops beat packing.
const SMALL: usize = 32;
/// The longest sum that is mended.
pub(super) const SHORT: usize = 16;

/// What becomes of the roundings of an element's sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::autograd) enum Sums {
    /// They stay.
    Plain,
    /// They are added up beside the sum, which is then mended by them: the element errs by about half a unit. For at
    /// most [`SHORT`] terms, since it takes six times the work.
    Mended,
}

impl Sums {
    /// For sums along features, whose number is the model's.
    ///
    /// Not for sums along positions: those may not depend on how many there are, or padding would change their bits.
    pub(in crate::autograd) fn along(features: usize) -> Self {
        if features <= SHORT { Self::Mended } else { Self::Plain }
    }
}

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

/// Which terms the elements in row i of the output have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::autograd) enum Terms {
    /// All k: the left factor is a rectangle.
    All,
    /// Those up to i: it is a lower triangle, and nothing beyond its diagonal, not even an infinity, has a part.
    UpToDiagonal,
    /// Those from i on: it is an upper triangle.
    FromDiagonal,
}

impl Terms {
    #[inline(always)]
    pub(super) fn of_row(self, row: usize, k: usize) -> Range<usize> {
        match self {
            Self::All => 0..k,
            Self::UpToDiagonal => 0..k.min(row + 1),
            Self::FromDiagonal => row.min(k)..k,
        }
    }
}

/// `out = a · b` for an output without gaps, on up to `threads` threads.
pub(in crate::autograd) fn write(
    out: &mut [f64],
    a: Factor<'_>,
    b: Factor<'_>,
    size: Size,
    sums: Sums,
    threads: usize,
) {
    let Size { m, n, k } = size;
    assert_eq!(out.len(), m * n, "bug: {} elements for a product of {m} × {n}", out.len());
    threads::over_rows(threads, m * n * k, out, n, |first, rows| {
        if rows.is_empty() {
            return;
        }
        let size = Size { m: rows.len() / n, n, k };
        let (start, stride, a) = (Start::Zero, n, a.skip_rows(first));
        Product { start, out: rows, stride, a, b, size, terms: Terms::All, sums }.compute();
    });
}

/// `out += a · b`, where rows of `out` lie `stride` apart: each element goes on from what it holds.
pub(in crate::autograd) fn add(
    out: &mut [f64],
    stride: usize,
    a: Factor<'_>,
    b: Factor<'_>,
    size: Size,
    (terms, sums): (Terms, Sums),
) {
    Product { start: Start::Out, out, stride, a, b, size, terms, sums }.compute();
}

/// What the first product is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Nothing: what `out` holds does not matter.
    Zero,
    /// What `out` holds.
    Out,
}

/// `out = start + a · b`, where rows of `out` lie `stride` apart.
pub(super) struct Product<'a> {
    pub(super) start: Start,
    pub(super) out: &'a mut [f64],
    pub(super) stride: usize,
    pub(super) a: Factor<'a>,
    pub(super) b: Factor<'a>,
    pub(super) size: Size,
    pub(super) terms: Terms,
    pub(super) sums: Sums,
}

impl Product<'_> {
    fn compute(self) {
        let Self { size: Size { m, n, k }, terms, sums, .. } = self;
        assert!(sums == Sums::Plain || k <= SHORT, "bug: a mended sum of {k} terms");
        if m * n * k <= SMALL {
            self.small();
        } else if (terms, sums) == (Terms::All, Sums::Plain) {
            tiles::multiply(self);
        } else {
            row_wise::multiply(self);
        }
    }

    /// The definition, in loops.
    fn small(self) {
        let Self { a, b, size, .. } = self;
        for i in 0..size.m {
            for (j, out) in self.out[i * self.stride..][..size.n].iter_mut().enumerate() {
                let mut sum = if self.start == Start::Zero { 0.0 } else { *out };
                let terms = self.terms.of_row(i, size.k);
                let factors = terms.map(|k| (a.values[a.at(i, k)], b.values[b.at(k, j)]));
                *out = match self.sums {
                    Sums::Plain => factors.fold(sum, |sum, (x, y)| sum + x * y),
                    Sums::Mended => {
                        let mut lost = 0.0;
                        factors.for_each(|(x, y)| sum::add_product(&mut sum, &mut lost, Halves::of(x), Halves::of(y)));
                        sum::mended(sum, lost)
                    }
                };
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::numeric::exact::ExactSum;
    use crate::numeric::random::SplitMix64;

    fn draw(stream: &mut SplitMix64, len: usize) -> Vec<f64> {
        (0..len).map(|_| stream.symmetric()).collect()
    }

    /// The definition from zero: the written order of additions, or the exact sum, rounded.
    fn definition(
        a: impl Fn(usize, usize) -> f64,
        b: impl Fn(usize, usize) -> f64,
        Size { m, n, k }: Size,
        sums: Sums,
    ) -> Vec<f64> {
        let element = |i, j| match sums {
            Sums::Plain => (0..k).fold(0.0, |sum, l| sum + a(i, l) * b(l, j)),
            Sums::Mended => {
                let mut sum = ExactSum::new();
                (0..k).for_each(|l| sum.add_product(a(i, l), b(l, j)));
                sum.to_f64()
            }
        };
        (0..m).flat_map(|i| (0..n).map(move |j| (i, j))).map(|(i, j)| element(i, j)).collect()
    }

    /// Runs a kernel on each vector unit in turn, with products of its own.
    type OnEach = for<'a> fn(&mut dyn FnMut() -> Product<'a>) -> Vec<(&'static str, ())>;

    /// Asserts that a kernel has the same bits on every vector unit and as it is called.
    pub(in crate::autograd::kernels) fn same_bits_on_every_unit(
        sizes: &[(usize, usize, usize)],
        kinds: &[(Terms, Sums)],
        multiply: fn(Product<'_>),
        on_each: OnEach,
    ) {
        let mut stream = SplitMix64::new(11);
        for &(m, n, k) in sizes {
            let (x, y, old) = (draw(&mut stream, m * k), draw(&mut stream, k * n), draw(&mut stream, m * n));
            for (a, b) in [
                (Factor::new(&x, k), Factor::new(&y, n)),
                (Factor::new(&x, k), Factor::transposed(&y, k)),
                (Factor::transposed(&x, m), Factor::new(&y, n)),
            ] {
                for (start, &(terms, sums)) in
                    [Start::Zero, Start::Out].into_iter().flat_map(|s| kinds.iter().map(move |kind| (s, kind)))
                {
                    let size = Size { m, n, k };
                    let product = |out| Product { start, out, stride: n, a, b, size, terms, sums };
                    let mut expected = old.clone();
                    multiply(product(&mut expected));
                    let mut outputs: [Vec<f64>; 3] = std::array::from_fn(|_| old.clone());
                    let mut left = outputs.iter_mut();
                    let units = on_each(&mut || product(left.next().unwrap()));
                    for ((name, ()), output) in units.iter().zip(&outputs) {
                        assert_eq!(*output, expected, "{name}: {size:?}, {start:?}, {terms:?}, {sums:?}");
                    }
                }
            }
        }
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
            (7, 21, 16),
            (4, 8, 128),
            (9, 17, 300),
            (130, 70, 150),
            (5, 0, 3),
            (0, 4, 4),
        ] {
            let size = Size { m, n, k };
            let (x, y) = (draw(&mut stream, m * k), draw(&mut stream, k * n));
            let by_rows = (Factor::new(&x, k), Factor::new(&y, n));
            let by_both = (Factor::new(&x, k), Factor::transposed(&y, k));
            let by_columns = (Factor::transposed(&x, m), Factor::new(&y, n));
            for sums in [Sums::Plain, Sums::along(k)] {
                let layouts = [
                    (by_rows, definition(|i, l| x[i * k + l], |l, j| y[l * n + j], size, sums)),
                    (by_both, definition(|i, l| x[i * k + l], |l, j| y[j * k + l], size, sums)),
                    (by_columns, definition(|i, l| x[l * m + i], |l, j| y[l * n + j], size, sums)),
                ];
                for ((a, b), want) in layouts {
                    for threads in [1, 2] {
                        let mut out = vec![f64::NAN; m * n];
                        write(&mut out, a, b, size, sums, threads);
                        assert_eq!(out, want, "{size:?}, {sums:?} on {threads} threads");
                    }
                }
            }
        }
    }

    /// Of a triangle the other half is not even read: NaN stands there.
    #[test]
    fn a_triangle_ends_at_its_diagonal() {
        let mut stream = SplitMix64::new(5);
        for (len, n) in [(1, 1), (3, 2), (4, 4), (7, 9), (16, 24)] {
            let size = Size { m: len, n, k: len };
            let (y, start) = (draw(&mut stream, len * n), draw(&mut stream, len * n));
            for terms in [Terms::UpToDiagonal, Terms::FromDiagonal] {
                let mut square = draw(&mut stream, len * len);
                for (row, values) in square.chunks_exact_mut(len).enumerate() {
                    let within = terms.of_row(row, len);
                    assert_eq!(within.contains(&0), row == 0 || terms == Terms::UpToDiagonal);
                    values.iter_mut().enumerate().filter(|(l, _)| !within.contains(l)).for_each(|(_, x)| *x = f64::NAN);
                }
                for sums in [Sums::Plain, Sums::Mended] {
                    let mut out = start.clone();
                    add(&mut out, n, Factor::new(&square, len), Factor::new(&y, n), size, (terms, sums));
                    let mut by_rows = start.clone();
                    for (row, out) in by_rows.chunks_exact_mut(n).enumerate() {
                        let within = terms.of_row(row, len);
                        let weights = Factor::new(&square[row * len + within.start..], len);
                        let size = Size { m: 1, n, k: within.len() };
                        add(out, n, weights, Factor::new(&y[within.start * n..], n), size, (Terms::All, sums));
                    }
                    assert_eq!(out, by_rows, "{size:?}, {terms:?}, {sums:?}");
                }
            }
        }
    }

    /// Where halves overflow or a factor is not finite, a mended sum is the plain one.
    #[test]
    fn mended_sums_have_the_limits_of_plain_ones() {
        for odd in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e308, -1e308, f64::MAX] {
            for (n, k) in [(1, 3), (9, 16)] {
                let (mut x, y) = (vec![1.0; k], vec![2.0; k * n]);
                x[1] = odd;
                let outputs = [Sums::Plain, Sums::Mended].map(|sums| {
                    let mut out = vec![0.0; n];
                    write(&mut out, Factor::new(&x, k), Factor::new(&y, n), Size { m: 1, n, k }, sums, 1);
                    out
                });
                let [plain, mended] = outputs.map(|out| format!("{out:?}"));
                assert_eq!(mended, plain, "{odd}, {k} terms");
            }
        }
    }

    /// A row alone has the bits that it has among others.
    #[test]
    fn a_row_does_not_feel_its_neighbours() {
        let mut stream = SplitMix64::new(4);
        for (m, n, k) in [(7, 33, 40), (7, 33, 12)] {
            let (x, w) = (draw(&mut stream, m * k), draw(&mut stream, n * k));
            let mut together = vec![0.0; m * n];
            let (w, sums) = (Factor::transposed(&w, k), Sums::along(k));
            write(&mut together, Factor::new(&x, k), w, Size { m, n, k }, sums, 1);
            for row in 0..m {
                let mut alone = vec![0.0; n];
                write(&mut alone, Factor::new(&x[row * k..], k), w, Size { m: 1, n, k }, sums, 1);
                assert_eq!(alone, together[row * n..][..n]);
            }
        }
    }
}

//! Attention within rows and heads: blocks of positions through the tiled product, the diagonal position by position.
//!
//! A head is a band of columns, so its matrices have gaps between their rows. The probabilities of each row and head
//! are a square of its length, zero above the diagonal.

use crate::autograd::kernels::product::{self, Factor, Size, Sums, Terms};
use crate::autograd::kernels::{softmax, threads};
use crate::autograd::primitive::MAX_INPUTS;
use crate::autograd::rows::Rows;
use crate::numeric::sum::dot;

/// Positions that go through the product together; only within such a block is the diagonal walked.
const BLOCK: usize = 16;

/// How positions and columns are divided.
#[derive(Clone, Copy)]
pub(in crate::autograd) struct Heads<'a> {
    pub(in crate::autograd) rows: &'a Rows,
    pub(in crate::autograd) heads: usize,
    pub(in crate::autograd) width: usize,
    pub(in crate::autograd) threads: usize,
}

/// One head of one row.
#[derive(Clone, Copy)]
struct Head {
    length: usize,
    dimension: usize,
    /// Distance between its rows.
    stride: usize,
    /// Where it begins in a buffer of positions × width.
    offset: usize,
    /// Where its square begins among all squares.
    square: usize,
}

/// Consecutive rows with their own part of every buffer that is written.
struct Part<'a, const N: usize> {
    bounds: &'a [usize],
    /// By position: `width` elements each.
    out: [&'a mut [f64]; N],
    /// By row and head: length × length elements each.
    squares: &'a mut [f64],
    /// Where they begin among all squares.
    first_square: usize,
}

/// Writes the output and, of each row and head, the probabilities.
pub(in crate::autograd) fn value(
    heads: Heads<'_>,
    [q, k, v]: [&[f64]; MAX_INPUTS],
    out: &mut [f64],
    probabilities: &mut [f64],
) {
    out.fill(0.0);
    heads.each([out], probabilities, &|head, [out], square| {
        head.products(&q[head.offset..], &k[head.offset..], square);
        head.each_row(square, |_, scores| {
            head.divide_by_root(scores);
            let _ = softmax::in_place(scores);
        });
        head.add_before(square, &v[head.offset..], out);
    });
}

/// Writes the cotangents of q, k and v.
pub(in crate::autograd) fn vjp(
    heads: Heads<'_>,
    [q, k, v]: [&[f64]; MAX_INPUTS],
    probabilities: &[f64],
    ct: &[f64],
    mut into: [&mut [f64]; MAX_INPUTS],
) {
    into.iter_mut().for_each(|into| into.fill(0.0));
    let mut scores = vec![0.0; probabilities.len()];
    heads.each(into, &mut scores, &|head, [into_q, into_k, into_v], scores| {
        let probabilities = &probabilities[head.square..][..scores.len()];
        let (q, k, v, ct) = (&q[head.offset..], &k[head.offset..], &v[head.offset..], &ct[head.offset..]);
        head.products(ct, v, scores);
        head.each_row(scores, |t, scores| {
            softmax::apply_jacobian(&probabilities[t * head.length..][..=t], scores);
            head.divide_by_root(scores);
        });
        head.add_before(scores, k, into_q);
        head.add_after(scores, q, into_k);
        head.add_after(probabilities, ct, into_v);
    });
}

/// Writes the output's tangent.
pub(in crate::autograd) fn jvp(
    heads: Heads<'_>,
    [q, k, v]: [&[f64]; MAX_INPUTS],
    probabilities: &[f64],
    tangents: &[&[f64]],
    out: &mut [f64],
) {
    let mut scores = vec![0.0; probabilities.len()];
    out.fill(0.0);
    heads.each([out], &mut scores, &|head, [out], scores| {
        let probabilities = &probabilities[head.square..][..scores.len()];
        let at = |x: &[f64], t: usize| x[head.offset + t * head.stride..][..head.dimension].to_vec();
        head.each_row(scores, |t, scores| {
            for (j, score) in scores.iter_mut().enumerate() {
                *score = dot(&at(tangents[0], t), &at(k, j)) + dot(&at(q, t), &at(tangents[1], j));
            }
            head.divide_by_root(scores);
            softmax::apply_jacobian(&probabilities[t * head.length..][..=t], scores);
        });
        head.add_before(scores, &v[head.offset..], out);
        head.add_before(probabilities, &tangents[2][head.offset..], out);
    });
}

impl Heads<'_> {
    /// Calls `compute` for every row and head with its part of `out` and its square.
    fn each<const N: usize>(
        &self,
        out: [&mut [f64]; N],
        squares: &mut [f64],
        compute: &(impl Fn(Head, [&mut [f64]; N], &mut [f64]) + Sync),
    ) {
        self.share(self.threads, Part { bounds: self.rows.bounds(), out, squares, first_square: 0 }, compute);
    }

    /// The same for some of the rows, half of them on another thread while that pays.
    fn share<const N: usize>(
        &self,
        threads: usize,
        part: Part<'_, N>,
        compute: &(impl Fn(Head, [&mut [f64]; N], &mut [f64]) + Sync),
    ) {
        let dimension = self.width / self.heads;
        if threads == 1 || part.bounds.len() <= 2 || part.squares.len() * dimension <= threads::WORTHWHILE {
            return self.walk(part, compute);
        }
        let middle = part.bounds.len() / 2;
        let (low, high) = (&part.bounds[..=middle], &part.bounds[middle..]);
        let mut high_out = part.out;
        let low_out = high_out.each_mut().map(|out| {
            let (low, high) = std::mem::take(out).split_at_mut((high[0] - low[0]) * self.width);
            *out = high;
            low
        });
        let low_squares_len: usize = low.windows(2).map(|row| self.heads * (row[1] - row[0]) * (row[1] - row[0])).sum();
        let (low_squares, high_squares) = part.squares.split_at_mut(low_squares_len);
        let first_square = part.first_square;
        let low = Part { bounds: low, out: low_out, squares: low_squares, first_square };
        let first_square = first_square + low_squares_len;
        let high = Part { bounds: high, out: high_out, squares: high_squares, first_square };
        std::thread::scope(|scope| {
            scope.spawn(|| self.share(threads / 2, low, compute));
            self.share(threads - threads / 2, high, compute);
        });
    }

    fn walk<const N: usize>(
        &self,
        mut part: Part<'_, N>,
        compute: &(impl Fn(Head, [&mut [f64]; N], &mut [f64]) + Sync),
    ) {
        let (dimension, stride) = (self.width / self.heads, self.width);
        let mut square = part.first_square;
        for row in part.bounds.windows(2).filter(|row| row[0] < row[1]) {
            let length = row[1] - row[0];
            for band in (0..stride).step_by(dimension) {
                let head = Head { length, dimension, stride, offset: row[0] * stride + band, square };
                let skip = head.offset - part.bounds[0] * stride;
                let own = &mut part.squares[square - part.first_square..][..length * length];
                compute(head, part.out.each_mut().map(|out| &mut out[skip..]), own);
                square += length * length;
            }
        }
    }
}

impl Head {
    /// square[t][j] = a[t]·b[j] for every j ≤ t (and some after it).
    fn products(self, a: &[f64], b: &[f64], square: &mut [f64]) {
        square.fill(0.0);
        for first in (0..self.length).step_by(BLOCK) {
            let end = (first + BLOCK).min(self.length);
            let a = Factor::new(&a[first * self.stride..], self.stride);
            let size = Size { m: end - first, n: end, k: self.dimension };
            let (b, sums) = (Factor::transposed(b, self.stride), (Terms::All, Sums::along(self.dimension)));
            product::add(&mut square[first * self.length..], self.length, a, b, size, sums);
        }
    }

    /// Calls `change(t, square[t][..=t])` for each t and clears what is after the diagonal.
    fn each_row(self, square: &mut [f64], mut change: impl FnMut(usize, &mut [f64])) {
        for (t, row) in square.chunks_exact_mut(self.length).enumerate() {
            let (before, after) = row.split_at_mut(t + 1);
            change(t, before);
            after.fill(0.0);
        }
    }

    fn divide_by_root(self, scores: &mut [f64]) {
        let root = (self.dimension as f64).sqrt();
        scores.iter_mut().for_each(|score| *score /= root);
    }

    /// out[t] += Σ over j ≤ t of square[t][j] · x[j], j ascending.
    fn add_before(self, square: &[f64], x: &[f64], out: &mut [f64]) {
        for first in (0..self.length).step_by(BLOCK) {
            let out = &mut out[first * self.stride..];
            let weights = &square[first * self.length..];
            let size = self.block(first);
            if first > 0 {
                let before = Size { k: first, ..size };
                self.add(out, Factor::new(weights, self.length), x, before, (Terms::All, Sums::Plain));
            }
            let triangle = Factor::new(&weights[first..], self.length);
            self.add(out, triangle, &x[first * self.stride..], size, (Terms::UpToDiagonal, sums(first)));
        }
    }

    /// out[j] += Σ over t ≥ j of square[t][j] · x[t], t ascending.
    fn add_after(self, square: &[f64], x: &[f64], out: &mut [f64]) {
        for first in (0..self.length).step_by(BLOCK) {
            let out = &mut out[first * self.stride..];
            let weights = |from: usize| Factor::transposed(&square[from * self.length + first..], self.length);
            let size = self.block(first);
            self.add(out, weights(first), &x[first * self.stride..], size, (Terms::FromDiagonal, sums(first)));
            let end = first + size.m;
            if end < self.length {
                let after = Size { k: self.length - end, ..size };
                self.add(out, weights(end), &x[end * self.stride..], after, (Terms::All, Sums::Plain));
            }
        }
    }

    /// The block of positions from `first` on: a square of weights with a triangle in it.
    fn block(self, first: usize) -> Size {
        let len = BLOCK.min(self.length - first);
        Size { m: len, n: self.dimension, k: len }
    }

    fn add(self, out: &mut [f64], weights: Factor<'_>, x: &[f64], size: Size, sums: (Terms, Sums)) {
        product::add(out, self.stride, weights, Factor::new(x, self.stride), size, sums);
    }
}

/// How the diagonal of the block from position `first` is summed. Mended in the first block, whatever comes after it.
fn sums(first: usize) -> Sums {
    if first == 0 { Sums::Mended } else { Sums::Plain }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::numeric::math::exp;
    use crate::numeric::random::SplitMix64;

    const WIDTH: usize = 6;

    /// Lengths around whole blocks, against the formulas in loops: a = softmax of q kᵀ/√d up to the diagonal, o = a v.
    #[test]
    fn rows_of_any_length_follow_the_formulas() {
        let mut stream = SplitMix64::new(6);
        let lengths = [1, 15, 16, 17, 31, 32, 33, 40];
        let rows = Rows::packed(&lengths);
        let positions: usize = lengths.iter().sum();
        let squares: usize = lengths.iter().map(|length| 2 * length * length).sum();
        let [q, k, v, ct]: [Vec<f64>; 4] =
            std::array::from_fn(|_| (0..positions * WIDTH).map(|_| stream.symmetric()).collect());
        let (mut out, mut probabilities) = (vec![f64::NAN; positions * WIDTH], vec![f64::NAN; squares]);
        let mut got: [Vec<f64>; 3] = std::array::from_fn(|_| out.clone());
        for threads in [1, 2] {
            let heads = Heads { rows: &rows, heads: 2, width: WIDTH, threads };
            value(heads, [&q, &k, &v], &mut out, &mut probabilities);
            vjp(heads, [&q, &k, &v], &probabilities, &ct, got.each_mut().map(Vec::as_mut_slice));
            let mut want: [Vec<f64>; 4] = std::array::from_fn(|_| vec![0.0; positions * WIDTH]);
            for row in rows.bounds().windows(2) {
                for head in 0..2 {
                    by_formula(row[0]..row[1], head * 3, [&q, &k, &v, &ct], &mut want);
                }
            }
            for (what, (got, want)) in ["out", "q", "k", "v"].iter().zip([&out].into_iter().chain(&got).zip(&want)) {
                for (i, (got, want)) in got.iter().zip(want).enumerate() {
                    assert!((got - want).abs() <= 1e-14, "{what}, position {}: {got}, not {want}", i / WIDTH);
                }
            }
        }
    }

    /// Output and cotangents of q, k and v of one row and head.
    fn by_formula(row: Range<usize>, band: usize, [q, k, v, ct]: [&[f64]; 4], want: &mut [Vec<f64>; 4]) {
        let at = |position: usize| position * WIDTH + band..position * WIDTH + band + 3;
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut add = |which: usize, position: usize, factor: f64, x: &[f64]| {
            want[which][at(position)].iter_mut().zip(x).for_each(|(sum, x)| *sum += factor * x);
        };
        for t in row.clone() {
            let scores = (row.start..=t).map(|j| exp(dot(&q[at(t)], &k[at(j)]) / 3f64.sqrt()));
            let scores: Vec<f64> = scores.collect();
            let total: f64 = scores.iter().sum();
            let slopes: Vec<f64> = (row.start..=t).map(|j| dot(&ct[at(t)], &v[at(j)])).collect();
            let mean = dot(&scores, &slopes) / total;
            for (j, (score, slope)) in (row.start..=t).zip(scores.iter().zip(&slopes)) {
                let probability = score / total;
                let slope = probability * (slope - mean) / 3f64.sqrt();
                add(0, t, probability, &v[at(j)]);
                add(1, t, slope, &k[at(j)]);
                add(2, j, slope, &q[at(t)]);
                add(3, j, probability, &ct[at(t)]);
            }
        }
    }
}

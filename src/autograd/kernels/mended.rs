//! Products with short sums, mended by what their roundings took: one row at a time against panels of columns.
//!
//! Eight times the work of a plain product, nearly all of it in registers, so larger tiles would gain nothing.

use crate::autograd::kernels::product::{Factor, SHORT, Size, Start};
use crate::numeric::sum::{Halves, add_product, mended};
use crate::numeric::vector::{self, Kernel};

/// A depth that is worth its own panel: clearing one of [`SHORT`] rows would cost more than the product.
const FLAT: usize = 4;

/// `out = start + a · b` for k up to [`SHORT`], where rows of `out` lie `stride` apart.
pub(super) fn multiply(start: Start, out: &mut [f64], stride: usize, a: Factor<'_>, b: Factor<'_>, size: Size) {
    vector::on_widest(Product { start, out, stride, a, b, size });
}

struct Product<'a> {
    start: Start,
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
        match (WIDE && self.size.n > 4, self.size.k <= FLAT) {
            (true, true) => self.panels::<8, FLAT>(),
            (true, false) => self.panels::<8, SHORT>(),
            (false, true) => self.panels::<4, FLAT>(),
            (false, false) => self.panels::<4, SHORT>(),
        }
    }
}

/// A row of a panel: columns of the right factor side by side, in halves.
#[derive(Clone, Copy)]
struct Packed<const COLUMNS: usize> {
    whole: [f64; COLUMNS],
    high: [f64; COLUMNS],
    low: [f64; COLUMNS],
}

impl Product<'_> {
    #[inline(always)]
    fn panels<const COLUMNS: usize, const DEEP: usize>(self) {
        let Size { m, n, k } = self.size;
        let zero = [0.0; COLUMNS];
        let mut panel = [Packed { whole: zero, high: zero, low: zero }; DEEP];
        let panel = &mut panel[..k];
        for column in (0..n).step_by(COLUMNS) {
            let width = COLUMNS.min(n - column);
            for (l, packed) in panel.iter_mut().enumerate() {
                pack(packed, self.b, l, column, width);
            }
            for row in 0..m {
                let out = &mut self.out[row * self.stride + column..][..width];
                let (mut sums, mut lost) = ([0.0; COLUMNS], [0.0; COLUMNS]);
                if self.start == Start::Out {
                    load(&mut sums, out);
                }
                for (l, packed) in panel.iter().enumerate() {
                    add_products(&mut sums, &mut lost, self.a.values[self.a.at(row, l)], packed);
                }
                for j in 0..COLUMNS {
                    sums[j] = mended(sums[j], lost[j]);
                }
                store(&sums, out);
            }
        }
    }
}

#[inline(always)]
fn add_products<const COLUMNS: usize>(
    sums: &mut [f64; COLUMNS],
    lost: &mut [f64; COLUMNS],
    x: f64,
    packed: &Packed<COLUMNS>,
) {
    let x = Halves::of(x);
    for j in 0..COLUMNS {
        let y = Halves { whole: packed.whole[j], high: packed.high[j], low: packed.low[j] };
        add_product(&mut sums[j], &mut lost[j], x, y);
    }
}

/// Copies a row of the right factor; columns beyond `width` stay zero or keep what they had, and are not stored.
#[inline(always)]
fn pack<const COLUMNS: usize>(packed: &mut Packed<COLUMNS>, b: Factor<'_>, row: usize, column: usize, width: usize) {
    let values = &b.values[b.at(row, column)..];
    if b.column_stride == 1 {
        load(&mut packed.whole, &values[..width]);
    } else {
        for (to, from) in packed.whole[..width].iter_mut().zip(values.iter().step_by(b.column_stride)) {
            *to = *from;
        }
    }
    for j in 0..COLUMNS {
        let Halves { high, low, .. } = Halves::of(packed.whole[j]);
        (packed.high[j], packed.low[j]) = (high, low);
    }
}

/// Loads as many as there are.
#[inline(always)]
fn load<const COLUMNS: usize>(row: &mut [f64; COLUMNS], from: &[f64]) {
    match <&[f64; COLUMNS]>::try_from(from) {
        Ok(whole) => *row = *whole,
        Err(_) => row[..from.len()].copy_from_slice(from),
    }
}

/// Stores as many as there is place for.
#[inline(always)]
fn store<const COLUMNS: usize>(row: &[f64; COLUMNS], to: &mut [f64]) {
    match <&mut [f64; COLUMNS]>::try_from(&mut *to) {
        Ok(whole) => *whole = *row,
        Err(_) => to.copy_from_slice(&row[..to.len()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::random::SplitMix64;

    #[test]
    fn every_vector_unit_gives_the_same_bits() {
        let mut stream = SplitMix64::new(11);
        for (m, n, k) in [(5, 7, 3), (6, 266, 4), (6, 11, 13), (3, 4, 16)] {
            let size = Size { m, n, k };
            let mut draw = |len: usize| -> Vec<f64> { (0..len).map(|_| stream.symmetric()).collect() };
            let (x, y, start) = (draw(m * k), draw(k * n), draw(m * n));
            for (a, b) in [
                (Factor::new(&x, k), Factor::new(&y, n)),
                (Factor::new(&x, k), Factor::transposed(&y, k)),
                (Factor::transposed(&x, m), Factor::new(&y, n)),
            ] {
                for from in [Start::Zero, Start::Out] {
                    let mut outputs: [Vec<f64>; 4] = std::array::from_fn(|_| start.clone());
                    multiply(from, &mut outputs[0], n, a, b, size);
                    let mut others = outputs[1..].iter_mut();
                    let product = |out| Product { start: from, out, stride: n, a, b, size };
                    let units = vector::on_each(|| product(others.next().unwrap()));
                    for ((name, ()), output) in units.iter().zip(&outputs[1..]) {
                        assert_eq!(*output, outputs[0], "{name}: {size:?}, {from:?}");
                    }
                }
            }
        }
    }
}

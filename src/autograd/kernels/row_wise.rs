//! Products a row at a time against panels of columns: those that are mended, and those of triangles.
//!
//! Mending takes six times the work of a plain product, nearly all of it in registers, and a triangle's rows differ in
//! length, so larger tiles would gain nothing.

use crate::autograd::kernels::product::{Factor, Product, SHORT, Size, Start, Sums};
use crate::numeric::sum::{Halves, add_product, mended};
use crate::numeric::vector::{self, Kernel};

/// A depth that is worth its own panel: clearing one of [`SHORT`] rows would cost more than the product.
const FLAT: usize = 4;

/// For k up to [`SHORT`].
pub(super) fn multiply(product: Product<'_>) {
    vector::on_widest(RowWise(product));
}

struct RowWise<'a>(Product<'a>);

impl Kernel for RowWise<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const WIDE: bool>(self) {
        match self.0.sums {
            Sums::Plain => self.0.by_size::<WIDE, false>(),
            Sums::Mended => self.0.by_size::<WIDE, true>(),
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
    fn by_size<const WIDE: bool, const MENDED: bool>(self) {
        match (WIDE && self.size.n > 4, self.size.k <= FLAT) {
            (true, true) => self.panels::<8, FLAT, MENDED>(),
            (true, false) => self.panels::<8, SHORT, MENDED>(),
            (false, true) => self.panels::<4, FLAT, MENDED>(),
            (false, false) => self.panels::<4, SHORT, MENDED>(),
        }
    }

    #[inline(always)]
    fn panels<const COLUMNS: usize, const DEEP: usize, const MENDED: bool>(self) {
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
                let mut sums = [0.0; COLUMNS];
                if self.start == Start::Out {
                    load(&mut sums, out);
                }
                let terms = self.terms.of_row(row, k);
                let mut lost = [0.0; COLUMNS];
                for (l, packed) in terms.clone().zip(&panel[terms]) {
                    let x = self.a.values[self.a.at(row, l)];
                    if MENDED {
                        add_products(&mut sums, &mut lost, x, packed);
                    } else {
                        add_plainly(&mut sums, x, packed);
                    }
                }
                if MENDED {
                    for j in 0..COLUMNS {
                        sums[j] = mended(sums[j], lost[j]);
                    }
                }
                store(&sums, out);
            }
        }
    }
}

#[inline(always)]
fn add_plainly<const COLUMNS: usize>(sums: &mut [f64; COLUMNS], x: f64, packed: &Packed<COLUMNS>) {
    for (sum, y) in sums.iter_mut().zip(packed.whole) {
        *sum += x * y;
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
    use crate::autograd::kernels::product::Terms;
    use crate::autograd::kernels::product::tests::same_bits_on_every_unit;

    #[test]
    fn every_vector_unit_gives_the_same_bits() {
        let kinds = [
            (Terms::All, Sums::Mended),
            (Terms::UpToDiagonal, Sums::Mended),
            (Terms::FromDiagonal, Sums::Mended),
            (Terms::UpToDiagonal, Sums::Plain),
        ];
        same_bits_on_every_unit(&[(5, 7, 3), (6, 266, 4), (6, 11, 13), (3, 4, 16)], &kinds, multiply, |product| {
            vector::on_each(|| RowWise(product()))
        });
    }
}

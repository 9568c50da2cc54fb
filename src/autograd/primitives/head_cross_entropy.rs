//! The output layer and the cross-entropy of its logits in one: `cross_entropy(linear(h, table))`, computed only at
//! positions that have a target. Same bits as the two apart, without logits for padding or a second copy of them.

use std::sync::Arc;

use crate::autograd::kernels::product::{self, Factor, Size, Sums};
use crate::autograd::primitive::{Call, Extent, Pinned, Primitive, Setting, sample};
use crate::autograd::primitives::cross_entropy::{check_targets, losses_to_slopes, valid};
use crate::autograd::tape::{Tape, Var};
use crate::autograd::tensor::{Shape, View};
use crate::numeric::sum::dot;

pub(super) static PRIMITIVE: Primitive = Primitive {
    name: "head_cross_entropy",
    inputs: 2,
    extent: |call| {
        let [h, table, _] = call.inputs;
        assert_eq!(h.shape.columns, table.shape.columns, "bug: hidden {} for table {}", h.shape, table.shape);
        check_targets(call.setting.targets(), Shape::matrix(h.shape.rows, table.shape.rows));
        // The derivative by the logits, and the hidden rows that had a target, both without gaps.
        Extent { output: Shape::SCALAR, saved: valid_count(call) * (table.shape.rows + table.shape.columns) }
    },
    value: |call, out, saved| {
        let [h, table, _] = call.inputs;
        let (classes, width) = (table.shape.rows, table.shape.columns);
        let (slopes, hidden) = saved.split_at_mut(valid_count(call) * classes);
        gather(hidden, h, call.setting.targets());
        let size = Size { m: valid_count(call), n: classes, k: width };
        let (hidden, table) = (Factor::new(hidden, width), Factor::transposed(table.values, width));
        product::write(slopes, hidden, table, size, Sums::along(width), call.threads);
        out[0] = losses_to_slopes(slopes, call.setting.targets(), classes);
    },
    vjp: |call, done, ct, [into_h, into_table, _]| {
        let table = call.inputs[1];
        let (classes, width, count) = (table.shape.rows, table.shape.columns, valid_count(call));
        let (slopes, hidden) = done.saved.split_at(count * classes);
        // As cross_entropy and linear would: first the logits' cotangent, then the two products.
        let ct: Vec<f64> = slopes.iter().map(|slope| ct[0] * slope).collect();
        let mut packed = vec![0.0; count * width];
        let size = Size { m: count, n: width, k: classes };
        let (ct_rows, table_rows) = (Factor::new(&ct, classes), Factor::new(table.values, width));
        product::write(&mut packed, ct_rows, table_rows, size, Sums::along(classes), call.threads);
        into_h.fill(0.0);
        for ((row, _), packed) in valid(call.setting.targets()).zip(packed.chunks_exact(width)) {
            into_h[row * width..][..width].copy_from_slice(packed);
        }
        let size = Size { m: classes, n: width, k: count };
        let (ct_columns, hidden_rows) = (Factor::transposed(&ct, classes), Factor::new(hidden, width));
        product::write(into_table, ct_columns, hidden_rows, size, Sums::Plain, call.threads);
    },
    jvp: |call, done, tangents, out| {
        let [h, table, _] = call.inputs;
        let (classes, width) = (table.shape.rows, table.shape.columns);
        let slopes = done.saved[..valid_count(call) * classes].chunks_exact(classes);
        out[0] = 0.0;
        for ((row, _), slopes) in valid(call.setting.targets()).zip(slopes) {
            let (h, dh) = (h.row(row), &tangents[0][row * width..][..width]);
            for (class, slope) in slopes.iter().enumerate() {
                let d_table = &tangents[1][class * width..][..width];
                out[0] += slope * (dot(dh, table.row(class)) + dot(h, d_table));
            }
        }
    },
    samples: || {
        let (h, table): (&[f64], &[f64]) = (&[1.0, -2.0, 0.5, 3.0, 3.0, -1.0], &[0.5, 1.0, -1.0, 0.25, 2.0, 0.0]);
        vec![sample([(3, 2, h), (3, 2, table)], Setting::Targets(Arc::new([Some(1), None, Some(2)])))]
    },
    // Logits (1, 1): a tie. The loss is ln 2; each class pulls with a half.
    pinned: || {
        vec![Pinned {
            at: sample(
                [(2, 2, &[1.0, 0.0, 9.0, 9.0]), (2, 2, &[1.0, 5.0, 1.0, -3.0])],
                Setting::Targets(Arc::new([Some(0), None])),
            ),
            output: vec![std::f64::consts::LN_2],
            ct: vec![2.0],
            input_cts: vec![vec![0.0, -8.0, 0.0, 0.0], vec![-1.0, 0.0, 1.0, 0.0]],
            tolerance: 0.0,
        }]
    },
};

fn valid_count(call: &Call<'_>) -> usize {
    call.setting.targets().iter().flatten().count()
}

fn gather(hidden: &mut [f64], h: View<'_>, targets: &[Option<u32>]) {
    for ((row, _), hidden) in valid(targets).zip(hidden.chunks_exact_mut(h.shape.columns)) {
        hidden.copy_from_slice(h.row(row));
    }
}

impl Tape<'_> {
    /// The summed cross-entropy of the logits `h tableᵀ` (positions × classes, never all formed) against a class for
    /// each position, `None` being ignored: a scalar. For binary64 only: in a narrower precision the logits
    /// themselves must be rounded, so use [`Tape::linear`] and [`Tape::cross_entropy`].
    ///
    /// # Panics
    /// Where shapes and targets do not fit, which is a bug of the caller.
    pub fn head_cross_entropy(&mut self, h: Var, table: Var, targets: Arc<[Option<u32>]>) -> Var {
        self.apply(&PRIMITIVE, [h, table], Setting::Targets(targets))
    }
}

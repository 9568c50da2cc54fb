//! Multiplication by a constant.

use crate::autograd::primitive::{Pinned, Primitive, Setting, sample};
use crate::autograd::tape::{Tape, Var};

pub(super) static PRIMITIVE: Primitive = Primitive {
    name: "scale",
    inputs: 1,
    extent: |call| call.elementwise(1, 0),
    value: |call, out, _| multiply(out, call.inputs[0].values, call.setting.constant()),
    vjp: |call, _, ct, [x, ..]| multiply(x, ct, call.setting.constant()),
    jvp: |call, _, tangents, out| multiply(out, tangents[0], call.setting.constant()),
    samples: || vec![sample([(1, 3, &[1.0, -2.0, 0.0])], Setting::Constant(-1.5))],
    pinned: || {
        vec![
            Pinned {
                at: sample([(1, 2, &[3.0, -4.0])], Setting::Constant(0.5)),
                output: vec![1.5, -2.0],
                ct: vec![1.0, 6.0],
                input_cts: vec![vec![0.5, 3.0]],
                tolerance: 0.0,
            },
            // The largest number times nothing is nothing: the forward of the poisoned branch in the overflow example.
            Pinned {
                at: sample([(1, 1, &[0.0])], Setting::Constant(f64::MAX)),
                output: vec![0.0],
                ct: vec![1.0],
                input_cts: vec![vec![f64::MAX]],
                tolerance: 0.0,
            },
        ]
    },
};

fn multiply(out: &mut [f64], x: &[f64], factor: f64) {
    out.iter_mut().zip(x).for_each(|(out, x)| *out = x * factor);
}

impl Tape<'_> {
    /// `factor · x`; no gradient flows to the factor.
    pub fn scale(&mut self, x: Var, factor: f64) -> Var {
        self.apply(&PRIMITIVE, [x], Setting::Constant(factor))
    }
}

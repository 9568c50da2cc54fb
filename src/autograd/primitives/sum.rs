//! The sum of all elements.

use crate::autograd::primitive::{Extent, Pinned, Primitive, Setting, sample};
use crate::autograd::tape::{Tape, Var};
use crate::autograd::tensor::Shape;
use crate::numeric::sum::sum;

pub(super) static PRIMITIVE: Primitive = Primitive {
    name: "sum",
    inputs: 1,
    extent: |_| Extent { output: Shape::SCALAR, saved: 0 },
    value: |call, out, _| out[0] = total(call.inputs[0].values),
    vjp: |_, _, ct, [x, ..]| x.fill(ct[0]),
    jvp: |_, _, tangents, out| out[0] = total(tangents[0]),
    samples: || vec![sample([(3, 3, &[1.0, -2.0, 0.5, 3.0, 0.25, -1.0, 4.0, 0.0, 9.0])], Setting::None)],
    pinned: || {
        vec![Pinned {
            at: sample([(2, 2, &[1.0, -2.0, 0.5, 4.0])], Setting::None),
            output: vec![3.5],
            ct: vec![7.0],
            input_cts: vec![vec![7.0; 4]],
            tolerance: 0.0,
        }]
    },
};

fn total(x: &[f64]) -> f64 {
    sum(x.len(), |i| x[i])
}

impl Tape<'_> {
    /// The sum of all elements of `x`: a scalar.
    pub fn sum(&mut self, x: Var) -> Var {
        self.apply(&PRIMITIVE, [x], Setting::None)
    }
}

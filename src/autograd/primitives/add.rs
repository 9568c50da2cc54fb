//! Addition, element by element: a residual connection.

use crate::autograd::primitive::{Pinned, Primitive, Setting, sample};
use crate::autograd::tape::{Tape, Var};

pub(super) static PRIMITIVE: Primitive = Primitive {
    name: "add",
    inputs: 2,
    extent: |call| call.elementwise(2, 0),
    value: |call, out, _| {
        let [x, y, _] = call.inputs;
        for ((out, x), y) in out.iter_mut().zip(x.values).zip(y.values) {
            *out = x + y;
        }
    },
    vjp: |_, _, ct, [x, y, _]| {
        x.copy_from_slice(ct);
        y.copy_from_slice(ct);
    },
    jvp: |_, _, tangents, out| {
        for ((out, x), y) in out.iter_mut().zip(tangents[0]).zip(tangents[1]) {
            *out = x + y;
        }
    },
    samples: || vec![sample([(2, 2, &[1.0, -2.0, 0.5, 3.0]), (2, 2, &[0.25, 2.0, -1.0, 0.0])], Setting::None)],
    pinned: || {
        vec![Pinned {
            at: sample([(1, 2, &[1.0, -2.0]), (1, 2, &[0.25, 2.0])], Setting::None),
            output: vec![1.25, 0.0],
            ct: vec![3.0, 5.0],
            input_cts: vec![vec![3.0, 5.0], vec![3.0, 5.0]],
            tolerance: 0.0,
        }]
    },
};

impl Tape<'_> {
    /// `x + y`, both of one shape.
    pub fn add(&mut self, x: Var, y: Var) -> Var {
        self.apply(&PRIMITIVE, [x, y], Setting::None)
    }
}

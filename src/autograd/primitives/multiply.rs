//! Multiplication, element by element.

use crate::autograd::primitive::{Pinned, Primitive, Setting, sample};
use crate::autograd::tape::{Tape, Var};

pub(super) static PRIMITIVE: Primitive = Primitive {
    name: "multiply",
    inputs: 2,
    extent: |call| call.elementwise(2, 0),
    value: |call, out, _| {
        let [x, y, _] = call.inputs;
        for ((out, x), y) in out.iter_mut().zip(x.values).zip(y.values) {
            *out = x * y;
        }
    },
    vjp: |call, _, ct, [into_x, into_y, _]| {
        let [x, y, _] = call.inputs;
        for ((into_x, ct), y) in into_x.iter_mut().zip(ct).zip(y.values) {
            *into_x = ct * y;
        }
        for ((into_y, ct), x) in into_y.iter_mut().zip(ct).zip(x.values) {
            *into_y = ct * x;
        }
    },
    jvp: |call, _, tangents, out| {
        let [x, y, _] = call.inputs;
        for (i, out) in out.iter_mut().enumerate() {
            *out = tangents[0][i] * y.values[i] + x.values[i] * tangents[1][i];
        }
    },
    samples: || vec![sample([(2, 2, &[1.0, -2.0, 0.5, 3.0]), (2, 2, &[0.25, 2.0, -1.0, 0.0])], Setting::None)],
    pinned: || {
        vec![Pinned {
            at: sample([(1, 2, &[2.0, 0.0]), (1, 2, &[3.0, -5.0])], Setting::None),
            output: vec![6.0, 0.0],
            ct: vec![7.0, 1.0],
            input_cts: vec![vec![21.0, -5.0], vec![14.0, 0.0]],
            tolerance: 0.0,
        }]
    },
};

impl Tape<'_> {
    /// `x ∘ y`, both of one shape.
    pub fn multiply(&mut self, x: Var, y: Var) -> Var {
        self.apply(&PRIMITIVE, [x, y], Setting::None)
    }
}

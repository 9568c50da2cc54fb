//! Division by a constant: a mean from a sum. Not multiplication by the reciprocal, which would round twice.

use crate::autograd::primitive::{Pinned, Primitive, Setting, sample};
use crate::autograd::tape::{Tape, Var};

pub(super) static PRIMITIVE: Primitive = Primitive {
    name: "divide",
    inputs: 1,
    extent: |call| call.elementwise(1, 0),
    value: |call, out, _| divide(out, call.inputs[0].values, call.setting.constant()),
    vjp: |call, _, ct, [x, ..]| divide(x, ct, call.setting.constant()),
    jvp: |call, _, tangents, out| divide(out, tangents[0], call.setting.constant()),
    samples: || vec![sample([(1, 3, &[1.0, -2.0, 0.0])], Setting::Constant(3.0))],
    pinned: || {
        vec![Pinned {
            // 49 · (1/49) is 1 less a unit in the last place.
            at: sample([(1, 1, &[5.0])], Setting::Constant(49.0)),
            output: vec![5.0 / 49.0],
            ct: vec![49.0],
            input_cts: vec![vec![1.0]],
            tolerance: 0.0,
        }]
    },
};

fn divide(out: &mut [f64], x: &[f64], divisor: f64) {
    out.iter_mut().zip(x).for_each(|(out, x)| *out = x / divisor);
}

impl Tape<'_> {
    /// `x / divisor`; no gradient flows to the divisor.
    pub fn divide(&mut self, x: Var, divisor: f64) -> Var {
        self.apply(&PRIMITIVE, [x], Setting::Constant(divisor))
    }
}

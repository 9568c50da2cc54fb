//! Softmax of each row.

use crate::autograd::kernels::softmax;
use crate::autograd::primitive::{Call, Done, Pinned, Primitive, Setting, sample};
use crate::autograd::tape::{Tape, Var};

pub(super) static PRIMITIVE: Primitive = Primitive {
    name: "softmax",
    inputs: 1,
    extent: |call| call.elementwise(1, 0),
    value: |call, out, _| {
        let x = call.inputs[0];
        out.copy_from_slice(x.values);
        for row in out.chunks_exact_mut(x.shape.columns) {
            let _ = softmax::in_place(row);
        }
    },
    vjp: |call, done, ct, [into, ..]| apply_jacobian(call, done, ct, into),
    jvp: |call, done, tangents, out| apply_jacobian(call, done, tangents[0], out),
    samples: || vec![sample([(2, 3, &[1.0, -2.0, 0.5, 3.0, 3.0, -1.0])], Setting::None)],
    pinned: || {
        vec![
            Pinned {
    at: sample(
        [
            (2, 5, &[
                1.436859019262163, -2.2559694526019207, 0.7176912833999678, 1.1593255147831492,
                1.1330885658851768, -2.57422971821138, -1.8190215940821652, -1.72297217162626,
                2.2741492112228054, -2.278365913896589
            ]),
        ],
        Setting::None,
    ),
    output: vec![
        0.33247560842210383, 0.00827913113423321, 0.16196799652699592, 0.2519002044014361, 0.24537705951523106,
        0.007443333136430403, 0.015839817658466513, 0.01743668460204989, 0.9492741881973821,
        0.010005976405671075
    ],
    ct: vec![
        0.01978391961255288, -0.8955122706841303, -0.3492271937946092, 0.4068095328088037, -0.2648283138975265,
        0.7189060194879793, 0.46480190984151615, 0.0375331333399922, -0.49242318809051855,
        -0.32100125564488535
    ],
    input_cts: vec![
        vec![
            0.013196399027304151, -0.007249247461750139, -0.05333926556611059, 0.10749008516455932,
            -0.060097971164002756, 0.008754808871506974, 0.014605746573409089, 0.008628051635538078,
            -0.0333522956849543, 0.0013636886045001726
        ],
    ],
    tolerance: 2e-16,
},
            // A tie shares alike, and a great score does not overflow.
            Pinned {
                at: sample([(1, 3, &[1000.0, 1000.0, -1000.0])], Setting::None),
                output: vec![0.5, 0.5, 0.0],
                ct: vec![1.0, 0.0, 0.0],
                input_cts: vec![vec![0.25, -0.25, 0.0]],
                tolerance: 0.0,
            },
        ]
    },
};

fn apply_jacobian(call: &Call<'_>, done: Done<'_>, v: &[f64], out: &mut [f64]) {
    let width = call.inputs[0].shape.columns;
    out.copy_from_slice(v);
    for (out, probabilities) in out.chunks_exact_mut(width).zip(done.value.chunks_exact(width)) {
        softmax::apply_jacobian(probabilities, out);
    }
}

impl Tape<'_> {
    /// exp(x) / Σ exp(x) in each row.
    pub fn softmax(&mut self, x: Var) -> Var {
        self.apply(&PRIMITIVE, [x], Setting::None)
    }
}

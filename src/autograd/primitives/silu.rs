//! SiLU: z · σ(z), with derivative σ(z) · (1 + z·(1 - σ(z))).
//!
//! Source: Elfwing, Uchibe and Doya, arXiv:1702.03118.

use crate::autograd::primitive::{Pinned, Primitive, Setting, sample};
use crate::autograd::tape::{Tape, Var};
use crate::numeric::exponential::sigmoid_all;

pub(super) static PRIMITIVE: Primitive = Primitive {
    name: "silu",
    inputs: 1,
    extent: |call| call.elementwise(1, 1),
    value: |call, out, saved| {
        let z = call.inputs[0].values;
        sigmoid_all(z, saved);
        for ((out, sigmoid), z) in out.iter_mut().zip(saved).zip(z) {
            *out = z * *sigmoid;
        }
    },
    vjp: |call, done, ct, [into, ..]| slope_times(into, call.inputs[0].values, done.saved, ct),
    jvp: |call, done, tangents, out| slope_times(out, call.inputs[0].values, done.saved, tangents[0]),
    samples: || vec![sample([(1, 5, &[-3.0, -1.278, 0.0, 0.5, 4.0])], Setting::None)],
    pinned: || {
        vec![
            Pinned {
    at: sample(
        [
            (2, 5, &[
                -3.4334880652715736, -1.2938935553564326, -0.9765900057663419, 3.4490407406500756,
                -1.5886573568375457, 0.039692261364749015, 1.549221688211631, 3.8329240068550137,
                3.019477826868754, 3.9713635891864634
            ]),
        ],
        Setting::None,
    ),
    output: vec![
        -0.10734839645050595, -0.27843879651463993, -0.2671646778461671, 3.3428189794878573,
        -0.26939320536548184, 0.020239947882677755, 1.277800048490179, 3.7517135550453116, 2.8789101237575614,
        3.8978971346429807
    ],
    ct: vec![
        0.6534898500886008, -0.4548668395429154, -0.2614899432813662, -0.911669635784093, 0.1445906924799667,
        0.057310249392182655, -0.8819188797467366, -0.8660726368164087, -0.06176060935534511,
        0.18981903082999696
    ],
    input_cts: vec![
        vec![
            -0.04752637095314058, 0.001512786736618671, -0.02078641102998812, -0.977449261406853,
            -0.007827929285516837, 0.029792212811363784, -0.9248420566983714, -0.9165665766819939,
            -0.06716281711547643, 0.1999949148603709
        ],
    ],
    tolerance: 1e-15,
},
            // The limits: no 0 · ∞, and the slope at 0 is a half.
            Pinned {
                at: sample([(1, 3, &[-800.0, 0.0, 800.0])], Setting::None),
                output: vec![0.0, 0.0, 800.0],
                ct: vec![1.0, 1.0, 1.0],
                input_cts: vec![vec![0.0, 0.5, 1.0]],
                tolerance: 0.0,
            },
        ]
    },
};

fn slope_times(out: &mut [f64], z: &[f64], sigmoid: &[f64], factor: &[f64]) {
    for (((out, z), s), factor) in out.iter_mut().zip(z).zip(sigmoid).zip(factor) {
        *out = factor * (s * (1.0 + z * (1.0 - s)));
    }
}

impl Tape<'_> {
    /// `z ∘ σ(z)`, element by element.
    pub fn silu(&mut self, z: Var) -> Var {
        self.apply(&PRIMITIVE, [z], Setting::None)
    }
}

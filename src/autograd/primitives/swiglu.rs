//! SwiGLU's gate: silu(z) ∘ u, where z and u are two linear layers of one input.
//!
//! Source: Shazeer, *GLU Variants Improve Transformer*, arXiv:2002.05202, eq. 6.

use crate::autograd::primitive::{Pinned, Primitive, Setting, sample};
use crate::autograd::tape::{Tape, Var};
use crate::numeric::exponential::sigmoid_all;

pub(super) static PRIMITIVE: Primitive = Primitive {
    name: "swiglu",
    inputs: 2,
    extent: |call| call.elementwise(2, 1),
    value: |call, out, saved| {
        let [z, u, _] = call.inputs;
        sigmoid_all(z.values, saved);
        for (((out, sigmoid), z), u) in out.iter_mut().zip(saved).zip(z.values).zip(u.values) {
            *out = z * *sigmoid * u;
        }
    },
    vjp: |call, done, ct, [into_z, into_u, _]| {
        let [z, u, _] = call.inputs;
        for (i, (into_z, into_u)) in into_z.iter_mut().zip(into_u).enumerate() {
            let (z, u, s, ct) = (z.values[i], u.values[i], done.saved[i], ct[i]);
            *into_z = ct * u * slope(z, s);
            *into_u = ct * (z * s);
        }
    },
    jvp: |call, done, tangents, out| {
        let [z, u, _] = call.inputs;
        for (i, out) in out.iter_mut().enumerate() {
            let (z, u, s) = (z.values[i], u.values[i], done.saved[i]);
            *out = tangents[0][i] * u * slope(z, s) + z * s * tangents[1][i];
        }
    },
    samples: || {
        vec![sample([(1, 4, &[-3.0, -1.278, 0.0, 4.0]), (1, 4, &[0.5, -2.0, 1.0, 0.25])], Setting::None)]
    },
    pinned: || vec![Pinned {
    at: sample(
        [
            (2, 4, &[
                -1.1837059948718365, -0.9478602648144716, -0.39041941943824177, -1.1471993800509401,
                0.6050166472991119, 2.658433553370596, -1.7026754909255584, -2.245862202474661
            ]),
            (2, 4, &[
                -0.2864971454633607, 0.41539523401326073, -0.9366437767289442, 0.6934101447227157,
                0.8503147079173814, -0.536655293536096, -0.8156620101064389, 0.8068355530283486
            ]),
        ],
        Setting::None,
    ),
    output: vec![
        0.07948711703727078, -0.10997668389049149, 0.14759600449974258, -0.19171139988091593,
        0.33275084935757704, -1.333257264468762, 0.2140377028174829, -0.17342501858276196
    ],
    ct: vec![
        0.6963131906266595, 0.667623649688001, 0.7512498345260517, 0.6392833167731315, -0.42014493747036097,
        -0.405192672048555, 0.026037892448395716, -0.421378457487134
    ],
    input_cts: vec![
        vec![
            -0.0043830508656007225, 0.024547022011237506, -0.21787814232515346, 0.013810934214167278,
            -0.2804521265631862, 0.23858137946117178, 0.0014410500703034117, 0.03354477547748246
        ],
        vec![
            -0.19318841026642974, -0.17675464008142575, -0.11838169079003664, -0.17674662032540805,
            -0.1644139322709826, -1.00665376830371, -0.006832598082061037, 0.09057306231213409
        ],
    ],
    tolerance: 1e-15,
}],
};

/// The derivative of z·σ(z), given s = σ(z).
fn slope(z: f64, s: f64) -> f64 {
    s * (1.0 + z * (1.0 - s))
}

impl Tape<'_> {
    /// `silu(gate) ∘ up`, both of one shape.
    pub fn swiglu(&mut self, gate: Var, up: Var) -> Var {
        self.apply(&PRIMITIVE, [gate, up], Setting::None)
    }
}

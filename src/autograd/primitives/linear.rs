//! A linear layer without bias: y = x Wᵀ, so that y[o] = Σᵢ x[i] W[o][i]. The weight is `[out, in]`, as in PyTorch.

use crate::autograd::kernels::product::{self, Factor, Size, Sums};
use crate::autograd::primitive::{Extent, Pinned, Primitive, Setting, sample};
use crate::autograd::tape::{Tape, Var};
use crate::autograd::tensor::{Shape, View};

pub(super) static PRIMITIVE: Primitive = Primitive {
    name: "linear",
    inputs: 2,
    extent: |call| {
        let [x, w, _] = call.inputs;
        assert_eq!(x.shape.columns, w.shape.columns, "bug: input {} for weight {}", x.shape, w.shape);
        Extent { output: Shape::matrix(x.shape.rows, w.shape.rows), saved: 0 }
    },
    value: |call, out, _| {
        let [x, w, _] = call.inputs;
        layer(out, x, w, call.threads);
    },
    vjp: |call, _, ct, [into_x, into_w, _]| {
        let [x, w, _] = call.inputs;
        let (positions, inputs, outputs) = (x.shape.rows, x.shape.columns, w.shape.rows);
        let size = Size { m: positions, n: inputs, k: outputs };
        let (ct_rows, w_rows) = (Factor::new(ct, outputs), Factor::new(w.values, inputs));
        product::write(into_x, ct_rows, w_rows, size, Sums::along(outputs), call.threads);
        let size = Size { m: outputs, n: inputs, k: positions };
        let (ct_columns, x_rows) = (Factor::transposed(ct, outputs), Factor::new(x.values, inputs));
        product::write(into_w, ct_columns, x_rows, size, Sums::Plain, call.threads);
    },
    jvp: |call, _, tangents, out| {
        let [x, w, _] = call.inputs;
        let mut other = vec![0.0; out.len()];
        layer(out, View { values: tangents[0], ..x }, w, call.threads);
        layer(&mut other, x, View { values: tangents[1], ..w }, call.threads);
        out.iter_mut().zip(other).for_each(|(out, x)| *out += x);
    },
    samples: || vec![sample([(2, 3, &[1.0, -2.0, 0.5, 3.0, 0.25, -1.0]), (1, 3, &[0.5, 2.0, -1.0])], Setting::None)],
    pinned: || vec![Pinned {
    at: sample(
        [
            (3, 4, &[
                0.5758182083650922, 0.042071366938685184, -0.8607115241820846, 0.9246370939243769,
                -0.40657892823208486, 0.6062829578091786, 0.41955603426743293, 0.7941970432140049,
                -0.04816188699320656, 0.7781295819449388, 0.04884109097807743, -0.34979866422982386
            ]),
            (2, 4, &[
                -0.18325222908241368, -0.7650782027242786, 0.7006850735089498, 0.0030555622611108113,
                -0.14195958098344374, -0.8178773133297896, -0.96337651947383, -0.6911446517040336
            ]),
        ],
        Setting::None,
    ),
    output: vec![
        -0.7379702874148536, 0.07397916206248933, -0.0929440115816075, -1.391242773195404, -0.5533508170678838,
        -0.4348683748847385
    ],
    ct: vec![
        0.42638851096811026, 0.1217715903132417, 0.1362147316189286, 0.7485691788034443, 0.46940474112078956,
        -0.31040612301071424
    ],
    input_cts: vec![
        vec![
            -0.09542328902659276, -0.4258147767590531, 0.18145217430429803, -0.08285892673180631,
            -0.13122822016308894, -0.7164526708528278, -0.6257103408236344, -0.5169533717671388,
            -0.041954341994941725, -0.10525720975782976, 0.6279428659470974, 0.21596982718719468
        ],
        vec![
            0.1675328107661368, 0.4657811328577786, -0.2869215528956299, 0.3382388193310396,
            -0.21928441084309602, 0.21743164637703943, 0.19409593123889682, 0.8156856050345231
        ],
    ],
    tolerance: 3e-16,
}],
};

fn layer(out: &mut [f64], x: View<'_>, w: View<'_>, threads: usize) {
    let size = Size { m: x.shape.rows, n: w.shape.rows, k: x.shape.columns };
    let (x, w) = (Factor::new(x.values, size.k), Factor::transposed(w.values, size.k));
    product::write(out, x, w, size, Sums::along(size.k), threads);
}

impl Tape<'_> {
    /// `x wᵀ` of positions × in and out × in: positions × out.
    pub fn linear(&mut self, x: Var, w: Var) -> Var {
        self.apply(&PRIMITIVE, [x, w], Setting::None)
    }
}

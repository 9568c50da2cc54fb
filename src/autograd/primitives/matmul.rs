//! Matrix product.

use crate::autograd::kernels::product::{self, Factor, Size, Sums};
use crate::autograd::primitive::{Extent, Pinned, Primitive, Setting, sample};
use crate::autograd::tape::{Tape, Var};
use crate::autograd::tensor::{Shape, View};

pub(super) static PRIMITIVE: Primitive = Primitive {
    name: "matmul",
    inputs: 2,
    extent: |call| {
        let [a, b, _] = call.inputs;
        assert_eq!(a.shape.columns, b.shape.rows, "bug: product of {} and {}", a.shape, b.shape);
        Extent { output: Shape::matrix(a.shape.rows, b.shape.columns), saved: 0 }
    },
    value: |call, out, _| {
        let [a, b, _] = call.inputs;
        multiply(out, a, b, call.threads);
    },
    vjp: |call, _, ct, [into_a, into_b, _]| {
        let [a, b, _] = call.inputs;
        let (m, k, n) = (a.shape.rows, a.shape.columns, b.shape.columns);
        let (ct, a_columns, b_columns) =
            (Factor::new(ct, n), Factor::transposed(a.values, k), Factor::transposed(b.values, n));
        product::write(into_a, ct, b_columns, Size { m, n: k, k: n }, Sums::along(n), call.threads);
        product::write(into_b, a_columns, ct, Size { m: k, n, k: m }, Sums::Plain, call.threads);
    },
    jvp: |call, _, tangents, out| {
        let [a, b, _] = call.inputs;
        let mut other = vec![0.0; out.len()];
        multiply(out, View { values: tangents[0], ..a }, b, call.threads);
        multiply(&mut other, a, View { values: tangents[1], ..b }, call.threads);
        out.iter_mut().zip(other).for_each(|(out, x)| *out += x);
    },
    samples: || vec![sample([(2, 3, &[1.0, -2.0, 0.5, 3.0, 0.25, -1.0]), (3, 1, &[0.5, 2.0, -1.0])], Setting::None)],
    pinned: || vec![Pinned {
    at: sample(
        [
            (2, 3, &[
                -0.29984091595718376, -0.6527118066581747, 0.06441460812483846, -0.5019846852354173,
                0.779058981237166, -0.15382412234503384
            ]),
            (3, 4, &[
                0.1812952566240067, -0.4494250011778207, -0.12441292147478467, 0.6373397839612704,
                -0.1495727589625342, -0.11487447221433755, 0.2013234768821357, -0.5171488874196677,
                -0.2553687577112289, -0.6939968903412812, 0.49456700088009997, -0.9830061143442277
            ]),
        ],
        Setting::None,
    ),
    output: vec![
        0.0268186914691529, 0.16503239057395058, -0.062244786433367186, 0.08312868638025182,
        -0.1682515685199889, 0.24286394102664668, 0.14321990917346228, -0.5716142434221044
    ],
    ct: vec![
        0.20398479831022032, -0.8653992459069242, -0.8348416073742659, -0.8106454595980921,
        -0.7065570330445228, 0.3959920100168901, 0.8565707463900059, 0.5849608740515444
    ],
    input_cts: vec![
        vec![
            0.013122014720756914, 0.3200528950390683, 0.9324773744079369, -0.039813780107962216,
            -0.06987175269596368, -0.2457731225320816
        ],
        vec![
            0.2935178210670472, 0.060700178057319476, -0.17966572427418603, -0.050576723113374966,
            -0.6835928885854878, 0.8733574371783466, 1.2122301068628287, 0.9848368850957154,
            0.12182511634136184, -0.11665747669311921, -0.1855372382751968, -0.1421985026653534
        ],
    ],
    tolerance: 2e-16,
}],
};

fn multiply(out: &mut [f64], a: View<'_>, b: View<'_>, threads: usize) {
    let size = Size { m: a.shape.rows, n: b.shape.columns, k: a.shape.columns };
    let (a, b) = (Factor::new(a.values, size.k), Factor::new(b.values, size.n));
    product::write(out, a, b, size, Sums::along(size.k), threads);
}

impl Tape<'_> {
    /// `a · b` of an m × k and a k × n matrix: m × n.
    pub fn matmul(&mut self, a: Var, b: Var) -> Var {
        self.apply(&PRIMITIVE, [a, b], Setting::None)
    }
}

//! Causal attention: in each row and head, oₜ = Σ over j ≤ t of softmax_j(qₜ·kⱼ / √d) vⱼ.
//!
//! Source: Vaswani et al., arXiv:1706.03762, eq. 1, masked. With p the probabilities and dS the scores' cotangent:
//! dV = Pᵀ dO, dS = p ∘ (dO Vᵀ - Σⱼ p (dO Vᵀ)), dQ = dS K / √d, dK = dSᵀ Q / √d. Sums over positions ascend and end at
//! the diagonal, so that nothing after t, not even an infinity in padding, reaches position t. There is no padding
//! mask: padding stands on the right.

use std::sync::Arc;

use crate::autograd::kernels::attention::{self, Heads};
use crate::autograd::primitive::{Call, Extent, Pinned, Primitive, Sample, Setting, sample};
use crate::autograd::rows::Rows;
use crate::autograd::tape::{Tape, Var};
use crate::autograd::tensor::{Shape, Tensor};
use crate::numeric::random::SplitMix64;

pub(super) static PRIMITIVE: Primitive = Primitive {
    name: "causal_attention",
    inputs: 3,
    extent: |call| {
        let (rows, heads) = call.setting.heads();
        let extent = call.elementwise(3, 0);
        assert_eq!(extent.output.rows, rows.positions(), "bug: {} positions in the rows", rows.positions());
        assert!(extent.output.columns.is_multiple_of(heads), "bug: {} in {heads} heads", extent.output);
        Extent { saved: rows.iter().map(|row| heads * row.len() * row.len()).sum(), ..extent }
    },
    value: |call, out, probabilities| {
        attention::value(heads(call), call.inputs.map(|input| input.values), out, probabilities);
    },
    vjp: |call, done, ct, into| attention::vjp(heads(call), call.inputs.map(|input| input.values), done.saved, ct, into),
    jvp: |call, done, tangents, out| {
        attention::jvp(heads(call), call.inputs.map(|input| input.values), done.saved, tangents, out);
    },
    samples: || {
        let q: &[f64] = &[1.0, -2.0, 0.5, 3.0, 0.25, -1.0];
        let k: &[f64] = &[0.5, 1.0, -1.0, 0.25, 2.0, 0.0];
        let v: &[f64] = &[2.0, -1.0, 1.5, 0.5, -0.5, 1.0];
        vec![
            sample([(3, 2, q), (3, 2, k), (3, 2, v)], setting(&[3], 1)),
            sample([(3, 2, q), (3, 2, k), (3, 2, v)], setting(&[1, 2], 2)),
            long_sample(),
        ]
    },
    pinned: || vec![Pinned {
    at: sample(
        [
            (4, 4, &[
                -0.4970733883474261, 0.6716477038102275, 0.9523242575058368, -0.3831330489923772,
                -0.3551322892352786, -0.6120655876669665, 0.0035700996907803706, 0.31545825286509666,
                0.06410972876803611, -0.6498079068995606, -0.7560515461702468, 0.9861314842252296,
                -0.7591539838021097, -0.027275139014461436, 0.07731904447609161, 0.45801673141119315
            ]),
            (4, 4, &[
                0.015579985792150364, 0.2815604848728399, 0.48629754276677994, 0.10472515133706772,
                0.04875457712755127, 0.2278491670535594, 0.5044214530208535, -0.22253487548898243,
                0.28510623273692226, -0.8767731186235721, -0.8155804484143678, 0.7434254098983355,
                -0.9840696798628787, 0.7682275328171186, 0.7608427390712995, 0.5041674840596404
            ]),
            (4, 4, &[
                -0.17170022021366194, -0.046830574992843044, 0.8549357865301201, 0.07071989170774806,
                -0.03125173602133735, 0.6526037257181949, -0.23314600970734167, -0.45602834647643054,
                0.127850514446761, 0.6630621677030164, 0.7325863713727305, 0.45329252873879966,
                0.3234272881197606, 0.9864699197985347, 0.5934530545936427, 0.20414137241145025
            ]),
        ],
        setting(&[4], 1),
    ),
    output: vec![
        -0.17170022021366194, -0.046830574992843044, 0.8549357865301201, 0.07071989170774806,
        -0.10291675438063201, 0.2957115008584535, 0.3220568630911489, -0.1872506350096218,
        0.043165802171043974, 0.5236004676781599, 0.5950222374819887, 0.22719856635092112, 0.09894768264813396,
        0.6190696937340141, 0.5148459028246779, 0.09661454747414783
    ],
    ct: vec![
        0.5751048325958548, -0.7874010839641965, -0.023368703137640834, 0.9197418830304862,
        -0.9167637635508195, 0.8388194266188236, 0.281243671268957, -0.4801093452362859, -0.3153901104735797,
        -0.11968832191041212, 0.04551765590393564, -0.40120358879242546, -0.3011183482957369,
        -0.6619878634595484, -0.9997782447843151, -0.9842459379584703
    ],
    input_cts: vec![
        vec![
            0.0, 0.0, 0.0, 0.0, 0.0016780173808112033, -0.002716793823797619, 0.0009167328123841773,
            -0.01655327137286698, -0.010332006565246282, 0.04621754419825698, 0.0535472994142561,
            -0.032769468533512126, 0.07395855748631858, 0.02836559237817425, 0.0661905196077549,
            -0.1215176821945926
        ],
        vec![
            0.0018806467437679705, 0.017057049646298113, -0.013857218620862252, 0.014686074848608885,
            -0.11716408980503418, -0.047835532990129444, -0.00501672451343319, 0.09672737716263886,
            0.04863446560330154, 0.028383896522020537, 0.025662072238945836, -0.07120244415443772,
            0.06664897745796464, 0.002394586821810787, -0.006788129104650394, -0.040211007856810005
        ],
        vec![
            -0.020266750419207745, -0.5285841227036252, -0.09149865830126042, 0.37988905712279564,
            -0.5625778246744623, 0.25687871841072063, -0.05693896001014828, -0.5012752295997194,
            -0.26855947531257707, -0.22384062065721133, -0.19347055330571228, -0.4754604410729113,
            -0.10676333931803432, -0.23471181776521766, -0.35447744913194246, -0.3489703754068606
        ],
    ],
    tolerance: 1e-15,
}],
};

fn setting(lengths: &[usize], heads: usize) -> Setting {
    Setting::Heads(Arc::new(Rows::packed(lengths)), heads)
}

/// A row longer than the kernel's blocks, beside a short one.
fn long_sample() -> Sample {
    let mut stream = SplitMix64::new(5);
    let mut tensor = || Tensor::new(Shape::matrix(22, 4), (0..88).map(|_| stream.symmetric()).collect());
    Sample { inputs: (0..3).map(|_| tensor()).collect(), setting: setting(&[19, 3], 2) }
}

fn heads<'a>(call: &Call<'a>) -> Heads<'a> {
    let (rows, heads) = call.setting.heads();
    Heads { rows, heads, width: call.inputs[0].shape.columns, threads: call.threads }
}

impl Tape<'_> {
    /// Attention of `q`, `k` and `v` (each positions × heads·dimension) within each row: of their shape.
    ///
    /// # Panics
    /// Where shapes, rows and heads do not fit, which is a bug of the caller.
    pub fn causal_attention(&mut self, q: Var, k: Var, v: Var, rows: Arc<Rows>, heads: usize) -> Var {
        self.apply(&PRIMITIVE, [q, k, v], Setting::Heads(rows, heads))
    }
}

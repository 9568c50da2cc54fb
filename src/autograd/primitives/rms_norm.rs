//! RMSNorm: y[i] = x[i] · r · g[i] with r = (mean(x²) + ε)^(-1/2), row by row.
//!
//! Source: Zhang and Sennrich, *Root Mean Square Layer Normalization*, arXiv:1910.07467, with ε inside the root as in
//! PyTorch's `rms_norm`. With x̂ = x·r and h = g ∘ ct: dx = r·(h - x̂·mean(h x̂)), and dg = Σ over rows of ct ∘ x̂.

use crate::autograd::primitive::{Extent, Pinned, Primitive, Setting, sample};
use crate::autograd::tape::{Tape, Var};
use crate::numeric::sum::{dot, sum};

pub(super) static PRIMITIVE: Primitive = Primitive {
    name: "rms_norm",
    inputs: 2,
    extent: |call| {
        let [x, gain, _] = call.inputs;
        assert_eq!(x.shape.columns, gain.shape.len(), "bug: gain {} for input {}", gain.shape, x.shape);
        Extent { output: x.shape, saved: x.shape.rows }
    },
    value: |call, out, saved| {
        let [x, gain, _] = call.inputs;
        let width = x.shape.columns;
        let rows = x.values.chunks_exact(width).zip(out.chunks_exact_mut(width));
        for ((x, out), inverse) in rows.zip(saved) {
            let mean_square = dot(x, x) / width as f64;
            *inverse = 1.0 / (mean_square + call.setting.constant()).sqrt();
            for ((out, x), gain) in out.iter_mut().zip(x).zip(gain.values) {
                *out = x * *inverse * gain;
            }
        }
    },
    vjp: |call, done, ct, [into_x, into_gain, _]| {
        let [x, gain, _] = call.inputs;
        let (width, gain) = (x.shape.columns, gain.values);
        into_gain.fill(0.0);
        let rows = x.values.chunks_exact(width).zip(ct.chunks_exact(width)).zip(into_x.chunks_exact_mut(width));
        for (((x, ct), into_x), r) in rows.zip(done.saved) {
            let (gain, ct) = (&gain[..width], &ct[..width]);
            let along = sum(width, |i| gain[i] * ct[i] * (x[i] * r)) / width as f64;
            for (i, (into_x, into_gain)) in into_x.iter_mut().zip(&mut *into_gain).enumerate() {
                *into_x = r * (gain[i] * ct[i] - x[i] * r * along);
                *into_gain += ct[i] * (x[i] * r);
            }
        }
    },
    jvp: |call, done, tangents, out| {
        let [x, gain, _] = call.inputs;
        let (width, gain) = (x.shape.columns, gain.values);
        let rows = x.values.chunks_exact(width).zip(tangents[0].chunks_exact(width)).zip(out.chunks_exact_mut(width));
        for (((x, dx), out), r) in rows.zip(done.saved) {
            let along = sum(width, |i| dx[i] * (x[i] * r)) / width as f64;
            for (i, out) in out.iter_mut().enumerate() {
                *out = r * (dx[i] - x[i] * r * along) * gain[i] + x[i] * r * tangents[1][i];
            }
        }
    },
    samples: || {
        let gain: &[f64] = &[1.0, -0.5, 2.0];
        vec![
            sample([(2, 3, &[1.0, -2.0, 0.5, 3.0, 0.25, -1.0]), (1, 3, gain)], Setting::Constant(1e-5)),
            // A row of zeros: only ε keeps it finite.
            sample([(1, 3, &[0.0, 0.0, 0.0]), (1, 3, gain)], Setting::Constant(1.0)),
        ]
    },
    pinned: || {
        vec![
            Pinned {
    at: sample(
        [
            (3, 4, &[
                0.0381189324392599, -0.46141360453843827, 0.13629551886317914, -0.18569784861603722,
                -0.6187474498033383, -0.5615122269525394, 0.7649791363512226, 0.30270067550329594,
                0.7640072383681111, 0.027566094054904955, -0.026976504677441282, 0.3046761398205238
            ]),
            (1, 4, &[
                -0.19022641055781775, -0.11233717806573829, 0.2624263060045904, 0.43505953432590205
            ]),
        ],
        Setting::Constant(1e-5),
    ),
    output: vec![
        -0.028042426305220046, 0.2004554877869537, 0.13832255085972528, -0.3124349487366521,
        0.20075301014052688, 0.10758718845785742, 0.3424008141019706, 0.22461559792419986, -0.3529908959935655,
        -0.007521318191368478, -0.017194448999872658, 0.3219454958257846
    ],
    ct: vec![
        -0.13550561363906288, 0.7646810306623135, 0.25164659000682454, 0.18929599389230956, -0.729040237659407,
        0.2666968420275557, 0.07519553824406788, 0.4059209993968005, 0.8091694297301282, 0.3850273766436001,
        0.9895960268901502, 0.8828740521530036
    ],
    input_cts: vec![
        vec![
            0.08076541990734407, -0.10318628679173952, 0.18773965544701293, 0.4106588668555592,
            0.23620428330295523, -0.05140226458538494, 0.03406920674764976, 0.30137211889799775,
            -0.34985314540169776, -0.10418737376603253, 0.6299071912079282, 0.9424886770682708
        ],
        vec![
            2.250931176142708, -1.59414507359494, 0.1659126861348238, 0.7269598833269204
        ],
    ],
    tolerance: 1e-15,
},
            // Inputs near 1e-2, where ε matters and cotangents reach 80.
            Pinned {
    at: sample(
        [
            (2, 4, &[
                -0.004616277829397921, -0.005866848994495437, -0.007980296317994634, 0.004543904526290732,
                0.00949661361475518, -0.00675149092525934, -0.0005093122382166926, 0.003943779817123012
            ]),
            (1, 4, &[
                0.7447268530635758, -0.5598678626795763, -0.6871304409090206, 0.07901472751718708
            ]),
        ],
        Setting::Constant(1e-5),
    ),
    output: vec![
        -0.512398381929089, 0.4895637426295857, 0.8172915400345876, 0.05351259865741061, 1.0219260001077126,
        0.5461838995926788, 0.050568138568319876, 0.045027141122916677
    ],
    ct: vec![
        0.4844782849070399, 0.7572792735226095, -0.9040443883278613, 0.74992701420533, -0.8661565834637759,
        0.025868480153825146, -0.15883219552618089, 0.8776977062760056
    ],
    input_cts: vec![
        vec![
            39.00288583596671, -81.96722986339608, 67.04744606449856, 23.37343359442418, -51.591427744335576,
            -31.67853227634804, 13.538123791544933, 27.302999866967966
        ],
        vec![
            -1.52189197611153, -0.6874218871690455, 1.0869838307272375, 1.0080495664551223
        ],
    ],
    tolerance: 2e-14,
},
        ]
    },
};

impl Tape<'_> {
    /// Each row of `x` (positions × width) divided by its root mean square, times `gain` (width numbers).
    pub fn rms_norm(&mut self, x: Var, gain: Var, epsilon: f64) -> Var {
        self.apply(&PRIMITIVE, [x, gain], Setting::Constant(epsilon))
    }
}

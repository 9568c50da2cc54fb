//! Cross-entropy, summed over the positions that have a target: Σ (ln Σⱼ exp(xⱼ) - x[target]).
//!
//! Positions whose label is the ignore index (`None`) add nothing and get a zero cotangent: the sum is over *valid
//! targets*, and who wants a mean divides by their number, or by the window's.

use std::sync::Arc;

use crate::autograd::kernels::softmax;
use crate::autograd::primitive::{Extent, Pinned, Primitive, Setting, sample};
use crate::autograd::tape::{Tape, Var};
use crate::autograd::tensor::Shape;
use crate::numeric::float::Precision;
use crate::numeric::math;
use crate::numeric::sum::dot;

pub(super) static PRIMITIVE: Primitive = Primitive {
    name: "cross_entropy",
    inputs: 1,
    extent: |call| {
        let (logits, targets) = (call.inputs[0].shape, call.setting.targets());
        check_targets(targets, logits);
        Extent { output: Shape::SCALAR, saved: targets.iter().flatten().count() * logits.columns }
    },
    value: |call, out, slopes| {
        let logits = call.inputs[0];
        for ((row, _), slopes) in valid(call.setting.targets()).zip(slopes.chunks_exact_mut(logits.shape.columns)) {
            slopes.copy_from_slice(logits.row(row));
        }
        out[0] = losses_to_slopes(slopes, call.setting.targets(), logits.shape.columns);
    },
    vjp: |call, done, ct, [into, ..]| {
        let classes = call.inputs[0].shape.columns;
        into.fill(0.0);
        for ((row, _), slopes) in valid(call.setting.targets()).zip(done.saved.chunks_exact(classes)) {
            let into = &mut into[row * classes..][..classes];
            into.iter_mut().zip(slopes).for_each(|(into, slope)| *into = ct[0] * slope);
        }
    },
    jvp: |call, done, tangents, out| {
        let classes = call.inputs[0].shape.columns;
        let rows = valid(call.setting.targets()).zip(done.saved.chunks_exact(classes));
        out[0] = rows.map(|((row, _), slopes)| dot(slopes, &tangents[0][row * classes..][..classes])).sum();
    },
    samples: || {
        let logits = [1.0, -2.0, 0.5, 3.0, 3.0, -1.0, 0.0, 0.0, 0.0];
        vec![sample([(3, 3, &logits)], targets([Some(1), None, Some(2)]))]
    },
    pinned: || {
        vec![
            Pinned {
    at: sample(
        [
            (4, 5, &[
                0.2793468043465517, -1.2316810918246195, 2.557509802441613, 0.24304462088386503,
                -2.3688501630130334, 1.2064227208589486, 2.198596331270827, -0.17335276345367645,
                2.205327817564504, -2.6046490509766254, -2.61777838773641, -1.7441716885948928,
                -0.846409357015603, -2.029349680132124, 2.536349045966439, 0.1387973623919554,
                -2.8163873684769305, 1.253682967997347, -2.810299525209148, -0.6921359463327481
            ]),
        ],
        targets([Some(2), None, Some(0), Some(4)]),
    ),
    output: vec![
        7.778751981724329
    ],
    ct: vec![
        1.0
    ],
    input_cts: vec![
        vec![
            0.08323243002955091, 0.01836798419584547, -0.18775659590133742, 0.08026509728092367,
            0.005891084395017505, 0.0, 0.0, 0.0, 0.0, 0.0, -0.9945717150539621, 0.013003648023936267,
            0.031912323981776375, 0.009777188260499186, 0.9398785547877504, 0.2178973049925924,
            0.011345703691824994, 0.6644166777439857, 0.011414985231265306, -0.9050746716596684
        ],
    ],
    tolerance: 2e-15,
},
            Pinned {
    at: sample(
        [
            (2, 5, &[
                -0.9002288177177487, 0.5898473843481509, 0.425358366203028, -0.7626429655336155,
                -0.6829030052532203, 0.4795283232994638, 0.09442947923953526, -0.367691078027075,
                0.16803807271342452, 0.8351766145004114
            ]),
        ],
        targets([None, None]),
    ),
    output: vec![
        0.0
    ],
    ct: vec![
        1.0
    ],
    input_cts: vec![
        vec![
            0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        ],
    ],
    tolerance: 0.0,
},
            // Needs the greatest logit subtracted: `cross_entropy_extreme` of the golden file.
            Pinned {
                at: sample([(2, 3, &[1000.0, 0.0, -1000.0, 0.5, 0.25, 800.0])], targets([Some(0), Some(0)])),
                output: vec![799.5],
                ct: vec![1.0],
                input_cts: vec![vec![0.0, 0.0, 0.0, -1.0, 0.0, 1.0]],
                tolerance: 0.0,
            },
        ]
    },
};

fn targets<const N: usize>(targets: [Option<u32>; N]) -> Setting {
    Setting::Targets(Arc::new(targets))
}

/// Positions that have a target, with it.
pub(super) fn valid(targets: &[Option<u32>]) -> impl Iterator<Item = (usize, usize)> + '_ {
    targets.iter().enumerate().filter_map(|(row, target)| target.map(|class| (row, class as usize)))
}

pub(super) fn check_targets(targets: &[Option<u32>], logits: Shape) {
    assert_eq!(targets.len(), logits.rows, "bug: {} targets for logits {logits}", targets.len());
    let classes = logits.columns;
    assert!(targets.iter().flatten().all(|&class| (class as usize) < classes), "bug: a target beyond {classes} classes");
}

/// Turns the logits of the valid positions into the derivative of their loss (softmax less one at the target) where
/// they stand, and returns the summed loss, added in order of position.
pub(super) fn losses_to_slopes(logits: &mut [f64], targets: &[Option<u32>], classes: usize) -> f64 {
    let mut loss = 0.0;
    for ((_, class), row) in valid(targets).zip(logits.chunks_exact_mut(classes)) {
        let logit = row[class];
        let (greatest, total) = softmax::in_place(row);
        loss += math::ln(total) - (logit - greatest);
        row[class] -= 1.0;
    }
    loss
}

impl Tape<'_> {
    /// The summed loss of logits (positions × classes) against a class for each position, `None` being ignored: a
    /// scalar, rounded to `precision`, the arithmetic of the loss.
    ///
    /// # Panics
    /// Where targets and logits do not fit, which is a bug of the caller: check targets where they come in.
    pub fn cross_entropy(&mut self, logits: Var, targets: Arc<[Option<u32>]>, precision: Precision) -> Var {
        self.apply_in(precision, &PRIMITIVE, [logits], Setting::Targets(targets))
    }
}

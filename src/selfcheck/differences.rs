//! Forward differences in binary32: a V of errors beside the exact derivative.

use crate::autograd::finite_difference::differences;
use crate::numeric::float::Precision;
use crate::numeric::math;
use crate::selfcheck::Answers;

pub(super) fn ask(answers: &mut Answers) {
    let differences = differences();
    let x = 0.703_125;
    let sigmoid = 1.0 / (1.0 + math::exp(-x));
    let by_hand = x * sigmoid * (2.0 + x * (1.0 - sigmoid));
    answers.within("derivative of x·silu(x) at 0.703125 by one VJP sweep", by_hand, 1e-15, differences.exact);
    let (best, first) = (differences.best(), &differences.steps[0]);
    let last = &differences.steps[differences.steps.len() - 1];
    let root = Precision::Float32.unit_roundoff().sqrt();
    answers.within(
        "log2 of the best step, near that of √u",
        math::ln(root) / math::ln(2.0),
        2.5,
        -f64::from(best.exponent),
    );
    answers.below("its error over that of the largest step", 0.01, (best.error / first.error).abs());
    answers.below("its error over that of the smallest step", 0.01, (best.error / last.error).abs());
    answers.below(
        "cancellation over truncation at the largest step",
        0.01,
        (first.cancellation / first.truncation).abs(),
    );
    answers.below(
        "truncation over cancellation at the smallest step",
        0.01,
        (last.truncation / last.cancellation).abs(),
    );
    answers.finite_differences = differences;
}

//! Rounding to the emulated formats.

use crate::numeric::float::Precision;
use crate::numeric::math::power_of_two;
use crate::selfcheck::Answers;

pub(super) fn ask(answers: &mut Answers) {
    let f16 = |x| Precision::Float16.round(x);
    answers.equal("the greatest binary16 number stays", 65504.0, f16(65504.0));
    answers.equal("the next below the tie rounds down", 65504.0, f16(65520.0_f64.next_down()));
    answers.equal("binary16 overflows at 65520", f64::INFINITY, f16(65520.0));
    let least = power_of_two(-24);
    answers.equal(
        "the least binary16 number, and its half",
        (5.960464477539063e-8, 0.0),
        (f16(least), f16(least / 2.0)),
    );
    let ties: Vec<f64> =
        Precision::ALL.iter().map(|precision| precision.round(1.0 + precision.unit_roundoff())).collect();
    answers.equal("1 + u in each format: ties to even", vec![1.0; 4], ties);
    answers.equal("0.1 in binary32", f64::from(0.1_f32), Precision::Float32.round(0.1));
}

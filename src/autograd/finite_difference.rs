//! Forward differences in binary32 beside the exact derivative: why the engine does not differentiate that way.
//!
//! (f(x + h) − f(x))/h misses f′(x) by two errors that move against each other. *Truncation*, near h·f″(x)/2, falls with h.
//! *Cancellation* grows like u·|f(x)|/h, u being the unit roundoff: the two values agree in ever more digits. Their sum is
//! V-shaped over the powers of two, with its least near h = √u. Source: Higham, *Accuracy and Stability of Numerical
//! Algorithms*, 2nd ed., §1.14. In binary64 cancellation is 2²⁹ times less, so that the same quotient computed in
//! binary64 tells the two apart.

use serde::Serialize;

use crate::autograd::arena::Arena;
use crate::autograd::parameters::Parameters;
use crate::autograd::tape::{Options, Tape, Var};
use crate::autograd::tensor::Shape;
use crate::numeric::float::Precision;
use crate::numeric::math::power_of_two;

/// Where the example is differentiated: a number of few digits, so that x + h is exact for every step.
const AT: f64 = 0.703_125;

/// The smallest step is 2 to the minus this: half a unit in the last place of x in binary32.
const LAST_EXPONENT: i32 = 24;

/// One step size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// h = 2^-exponent.
    pub exponent: i32,
    /// The quotient, all in binary32.
    pub quotient: f64,
    /// Its error: truncation and cancellation together.
    pub error: f64,
    /// The error that the same quotient has in binary64.
    pub truncation: f64,
    /// What binary32 adds to it.
    pub cancellation: f64,
}

/// The exact derivative, and the quotients for h = 1/2, 1/4, … 2^-24.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Differences {
    /// f′(x) by one VJP sweep in binary64.
    pub exact: f64,
    /// The quotients.
    pub steps: Vec<Step>,
}

/// f(x) = x · silu(x).
fn example(tape: &mut Tape<'_>, x: Var) -> Var {
    let gated = tape.silu(x);
    tape.multiply(x, gated)
}

fn value(x: f64, precision: Precision) -> f64 {
    let (parameters, mut arena) = (Parameters::new([]), Arena::default());
    let mut tape = Tape::new(&parameters, &mut arena, Options { precision, threads: 1 });
    let x = tape.input(Shape::SCALAR, &[x]);
    let y = example(&mut tape, x);
    tape.scalar(y)
}

fn derivative(x: f64) -> f64 {
    let (parameters, mut arena) = (Parameters::new([]), Arena::default());
    let mut tape = Tape::new(&parameters, &mut arena, Options::default());
    let x = tape.input(Shape::SCALAR, &[x]);
    let y = example(&mut tape, x);
    tape.pullback(y, &[1.0]).of(x).expect("bug: the example does not depend on its input")[0]
}

/// Differentiates the example by differences and exactly.
#[must_use]
pub fn differences() -> Differences {
    let exact = derivative(AT);
    let quotient = |h: f64, precision: Precision| {
        let difference = precision.round(value(AT + h, precision) - value(AT, precision));
        precision.round(difference / h)
    };
    let step = |exponent: i32| {
        let h = power_of_two(-exponent);
        let (narrow, wide) = (quotient(h, Precision::Float32), quotient(h, Precision::Float64));
        let (error, truncation, cancellation) = (narrow - exact, wide - exact, narrow - wide);
        Step { exponent, quotient: narrow, error, truncation, cancellation }
    };
    Differences { exact, steps: (1..=LAST_EXPONENT).map(step).collect() }
}

impl Differences {
    /// The step with the least error.
    ///
    /// # Panics
    /// Where there is no step, which is a bug of ours.
    #[must_use]
    pub fn best(&self) -> &Step {
        let by_error = |a: &&Step, b: &&Step| a.error.abs().total_cmp(&b.error.abs());
        self.steps.iter().min_by(by_error).expect("bug: no step")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::math;

    #[test]
    fn the_sweep_is_exact() {
        let s = 1.0 / (1.0 + math::exp(-AT));
        let by_hand = AT * s + AT * s * (1.0 + AT * (1.0 - s));
        assert!((differences().exact - by_hand).abs() <= 4.0 * f64::EPSILON * by_hand, "{}", differences().exact);
    }

    #[test]
    fn truncation_falls_with_the_step() {
        for pair in differences().steps.windows(2) {
            let ratio = pair[0].truncation / pair[1].truncation;
            assert!((1.9..2.4).contains(&ratio), "2^-{}: {ratio}", pair[1].exponent);
        }
    }

    #[test]
    fn cancellation_grows_as_the_step_falls() {
        let unit = Precision::Float32.unit_roundoff();
        // Two values rounded twice each, their difference and the quotient once.
        let allowed = |step: &Step| 6.0 * unit * value(AT + 0.5, Precision::Float64) / power_of_two(-step.exponent);
        let steps = differences().steps;
        assert!(steps.iter().all(|step| step.cancellation.abs() <= allowed(step)), "{steps:?}");
        let worst =
            |range: std::ops::Range<usize>| steps[range].iter().map(|step| step.cancellation.abs()).fold(0.0, f64::max);
        assert!(worst(0..8) < worst(8..16) / 30.0 && worst(8..16) < worst(16..24) / 30.0);
    }

    #[test]
    fn the_error_is_v_shaped_with_its_least_near_the_root_of_the_roundoff() {
        let differences = differences();
        let best = differences.best();
        assert!((10..=14).contains(&best.exponent), "{best:?}");
        let (first, last) = (&differences.steps[0], differences.steps.last().unwrap());
        assert!(first.error.abs() > 100.0 * best.error.abs() && last.error.abs() > 100.0 * best.error.abs());
        assert!(first.truncation.abs() > first.cancellation.abs() && last.truncation.abs() < last.cancellation.abs());
    }
}

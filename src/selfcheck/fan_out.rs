//! Cotangents add where a value is used twice; the price of a Jacobian in sweeps.

use crate::autograd::arena::Arena;
use crate::autograd::parameters::Parameters;
use crate::autograd::tape::{Options, Tape, Var};
use crate::autograd::tensor::Shape;
use crate::selfcheck::Answers;

pub(super) fn ask(answers: &mut Answers) {
    on_tape(|tape| two_uses(tape, answers));
    on_tape(|tape| three_uses(tape, answers));
    sweeps(answers);
}

fn on_tape(ask: impl FnOnce(&mut Tape<'_>)) {
    let (parameters, mut arena) = (Parameters::new([]), Arena::default());
    ask(&mut Tape::new(&parameters, &mut arena, Options::default()));
}

/// a = xy, b = a + x, c = ay, L = bc at x = 2, y = 3.
fn nodes(tape: &mut Tape<'_>) -> [Var; 6] {
    let x = tape.input(Shape::SCALAR, &[2.0]);
    let y = tape.input(Shape::SCALAR, &[3.0]);
    let a = tape.multiply(x, y);
    let b = tape.add(a, x);
    let c = tape.multiply(a, y);
    let loss = tape.multiply(b, c);
    [x, y, a, b, c, loss]
}

fn two_uses(tape: &mut Tape<'_>, answers: &mut Answers) {
    let [x, y, a, b, c, loss] = nodes(tape);
    let through = |tape: &mut Tape<'_>, use_: Var| {
        tape.pullback_overwriting(loss, &[1.0], &[loss, use_]).of(a).map_or(f64::NAN, |ct| ct[0])
    };
    let contributions = (through(tape, b), through(tape, c));
    answers.equal("contributions into a = xy from b = a + x and from c = ay", (18.0, 24.0), contributions);
    let cotangents = tape.pullback(loss, &[1.0]);
    let of = |var| cotangents.of(var).map_or(f64::NAN, |ct| ct[0]);
    answers.equal("cotangent of a", 42.0, of(a));
    answers.equal("gradient of L = bc at x = 2, y = 3", (144.0, 132.0), (of(x), of(y)));
    for (question, order, expected) in [
        ("the same if the last writer wins, in the order 5, 3, 4, 2, 1, 0", [loss, b, c, a, y, x], (90.0, 96.0)),
        ("the same with the siblings in the other order", [loss, c, b, a, y, x], (72.0, 84.0)),
    ] {
        let cotangents = tape.pullback_overwriting(loss, &[1.0], &order);
        let got = (cotangents.of(x).map_or(f64::NAN, |ct| ct[0]), cotangents.of(y).map_or(f64::NAN, |ct| ct[0]));
        answers.equal(question, expected, got);
    }
}

fn three_uses(tape: &mut Tape<'_>, answers: &mut Answers) {
    let [x, y, a, _, _, product] = nodes(tape);
    let square = tape.multiply(a, a);
    let loss = tape.add(product, square);
    let cotangents = tape.pullback(loss, &[1.0]);
    let of = |var| cotangents.of(var).map_or(f64::NAN, |ct| ct[0]);
    answers.equal("cotangent of a with L = bc + a²", 54.0, of(a));
    answers.equal("its gradient", (180.0, 156.0), (of(x), of(y)));
}

/// A map from ℝ¹⁰⁰⁰ to ℝ⁴, and a sum.
fn sweeps(answers: &mut Answers) {
    on_tape(|tape| {
        let input: Vec<f64> = (0..1000).map(|i| f64::from(i) / 1000.0).collect();
        let x = tape.input(Shape::vector(1000), &input);
        let weights: Vec<f64> = (0..4000).map(|i| f64::from(i % 13) - 6.0).collect();
        let w = tape.input(Shape::matrix(4, 1000), &weights);
        let y = tape.linear(x, w);
        let (by_jvp, by_vjp) = (tape.jacobian_by_jvp(y, x), tape.jacobian_by_vjp(y, x));
        answers.equal("sweeps for a Jacobian of ℝ¹⁰⁰⁰ → ℝ⁴: JVP, VJP", (1000, 4), (by_jvp.sweeps, by_vjp.sweeps));
        answers.equal("elements in which the two Jacobians differ", 0, differing(&by_jvp.values, &by_vjp.values));
        let sum = tape.sum(y);
        answers.equal("VJP sweeps for the gradient of a sum", 1, tape.jacobian_by_vjp(sum, x).sweeps);
    });
}

pub(super) fn differing(a: &[f64], b: &[f64]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a.to_bits() != b.to_bits()).count() + a.len().abs_diff(b.len())
}

//! Fan-out, and how many sweeps a Jacobian takes.

use receipt::autograd::{Arena, Options, Parameters, Shape, Tape, Tensor, Var};

/// x, y, a = xy, b = a + x, c = ay, L = bc, as nodes 0 to 5.
struct FanOut {
    x: Var,
    y: Var,
    a: Var,
    b: Var,
    c: Var,
    loss: Var,
}

fn fan_out(tape: &mut Tape<'_>) -> FanOut {
    let x = tape.input(Shape::SCALAR, &[2.0]);
    let y = tape.input(Shape::SCALAR, &[3.0]);
    let a = tape.multiply(x, y);
    let b = tape.add(a, x);
    let c = tape.multiply(a, y);
    let loss = tape.multiply(b, c);
    FanOut { x, y, a, b, c, loss }
}

fn on_a_tape<T>(compute: impl FnOnce(&mut Tape<'_>) -> T) -> T {
    let parameters = Parameters::new([]);
    let mut arena = Arena::default();
    compute(&mut Tape::new(&parameters, &mut arena, Options::default()))
}

#[test]
fn contributions_add_to_42() {
    on_a_tape(|tape| {
        let FanOut { x, y, a, b, c, loss } = fan_out(tape);
        assert_eq!(tape.scalar(loss), 144.0);
        let ct = tape.pullback(loss, &[1.0]);
        let of = |var| ct.of(var).unwrap()[0];
        assert_eq!((of(b), of(c), of(a)), (18.0, 8.0, 42.0));
        assert_eq!((of(x), of(y)), (144.0, 132.0));
    });
}

/// 18 comes by way of b, 24 by way of c: seen apart when the other is left out.
#[test]
fn contributions_are_18_and_24() {
    on_a_tape(|tape| {
        let FanOut { a, b, c, loss, .. } = fan_out(tape);
        let through_b = tape.pullback_overwriting(loss, &[1.0], &[loss, b]).of(a).unwrap()[0];
        let through_c = tape.pullback_overwriting(loss, &[1.0], &[loss, c]).of(a).unwrap()[0];
        assert_eq!((through_b, through_c), (18.0, 24.0));
    });
}

#[test]
fn the_last_writer_wins_where_nothing_is_added() {
    on_a_tape(|tape| {
        let FanOut { x, y, a, b, c, loss } = fan_out(tape);
        assert_eq!([x, y, a, b, c, loss].map(Var::index), [0, 1, 2, 3, 4, 5]);
        let gradient = |tape: &mut Tape<'_>, order: [Var; 6]| {
            let ct = tape.pullback_overwriting(loss, &[1.0], &order);
            (ct.of(x).unwrap()[0], ct.of(y).unwrap()[0])
        };
        assert_eq!(gradient(tape, [loss, b, c, a, y, x]), (90.0, 96.0));
        assert_eq!(gradient(tape, [loss, c, b, a, y, x]), (72.0, 84.0));
    });
}

#[test]
fn three_contributions_add_to_54() {
    on_a_tape(|tape| {
        let FanOut { x, y, a, loss, .. } = fan_out(tape);
        let d = tape.multiply(a, a);
        let loss = tape.add(loss, d);
        let ct = tape.pullback(loss, &[1.0]);
        assert_eq!(ct.of(a), Some(&[54.0][..]));
        assert_eq!((ct.of(x), ct.of(y)), (Some(&[180.0][..]), Some(&[156.0][..])));
    });
}

#[test]
fn what_the_output_does_not_depend_on_gets_nothing() {
    on_a_tape(|tape| {
        let FanOut { b, c, a, .. } = fan_out(tape);
        let ct = tape.pullback(b, &[1.0]);
        assert_eq!((ct.of(c), ct.of(a)), (None, Some(&[1.0][..])));
    });
}

/// A parameter asked for twice is one node, and its uses add.
#[test]
fn a_tied_parameter_is_one_node() {
    let parameters = Parameters::new([("w".to_owned(), Tensor::new(Shape::SCALAR, vec![5.0]))]);
    let mut arena = Arena::default();
    let mut tape = Tape::new(&parameters, &mut arena, Options::default());
    let id = parameters.id("w").unwrap();
    let (w, again) = (tape.parameter(id), tape.parameter(id));
    assert_eq!(w, again);
    let square = tape.multiply(w, again);
    assert_eq!(tape.to_string(), "0: parameter w [1, 1]\n1: multiply 0 0 [1, 1]\n");
    let mut gradients = receipt::autograd::Gradients::zeros(&parameters);
    tape.backward(square, 1.0, &mut gradients).unwrap();
    assert_eq!(gradients.values(), [10.0]);
}

/// ℝ¹⁰⁰⁰ → ℝ⁴: 1000 forward or 4 reverse sweeps, the same Jacobian; one reverse sweep for the sum.
#[test]
fn sweep_counts() {
    on_a_tape(|tape| {
        let weights: Vec<f64> = (0..4000_u32).map(|i| f64::from(i % 17) - 8.0).collect();
        let start: Vec<f64> = (0..1000_u32).map(|i| f64::from(i % 5) * 0.25 - 0.5).collect();
        let x = tape.input(Shape::vector(1000), &start);
        let w = tape.input(Shape::matrix(4, 1000), &weights);
        let y = tape.linear(x, w);
        let y = tape.multiply(y, y);
        assert_eq!(tape.view(y).shape, Shape::vector(4));
        let forward = tape.jacobian_by_jvp(y, x);
        let reverse = tape.jacobian_by_vjp(y, x);
        assert_eq!((forward.sweeps, reverse.sweeps), (1000, 4));
        assert_eq!(forward.values, reverse.values);
        assert!(forward.values.iter().any(|x| *x != 0.0));

        let total = tape.sum(y);
        let gradient = tape.jacobian_by_vjp(total, x);
        assert_eq!(gradient.sweeps, 1);
        let columns: Vec<f64> = (0..1000).map(|j| (0..4).map(|i| forward.values[i * 1000 + j]).sum()).collect();
        assert_eq!(gradient.values, columns);
    });
}

/// The JVP of the whole decoder's loss in a direction is the inner product of its gradient with it.
#[test]
fn forward_and_reverse_agree_on_the_decoder() {
    use crate::engine_fixtures::{accumulate, default_decoder};
    use receipt::decoder::nine_targets;
    use receipt::decoder::pass::Arithmetic;
    use receipt::numeric::random::SplitMix64;

    let (decoder, parameters) = default_decoder();
    let full = nine_targets::full_batch();
    let mut stream = SplitMix64::new(77);
    let direction: Vec<f64> = parameters.values().iter().map(|_| stream.symmetric()).collect();

    let mut arena = Arena::default();
    let mut tape = Tape::new(&parameters, &mut arena, Options::default());
    let loss = decoder.loss_sum(&mut tape, &full, receipt::numeric::float::Precision::Float64);
    let leaves: Vec<(Var, &[f64])> = parameters
        .ids()
        .zip(parameters.tensors())
        .map(|(id, tensor)| (tape.parameter(id), &direction[tensor.span.clone()]))
        .collect();
    let forward = tape.pushforward(loss, &leaves)[0];

    let (_, gradients) = accumulate(&decoder, &parameters, &[full], 1.0, Arithmetic::default());
    let terms = gradients.values().iter().zip(&direction).map(|(g, d)| g * d);
    let reverse: f64 = terms.clone().sum();
    let size: f64 = terms.map(f64::abs).sum();
    assert!((forward - reverse).abs() <= 1e-14 * size, "{forward}, {reverse}");
}

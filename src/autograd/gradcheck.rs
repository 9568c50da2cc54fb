//! The one test of every primitive: pinned values, ⟨u, Jv⟩ = ⟨Jᵀu, v⟩, and central differences, at its samples and at
//! random points.

use proptest::collection::vec;
use proptest::test_runner::{Config, TestRunner};

use crate::autograd::primitive::{Call, Done, Extent, MAX_INPUTS, Primitive, Sample};
use crate::autograd::tensor::{Tensor, View};
use crate::numeric::random::SplitMix64;

/// Step of the central differences: near the cube root of the unit roundoff, where truncation and rounding balance.
const STEP: f64 = 6e-6;

/// Checks one primitive.
pub(super) fn gradcheck(primitive: &Primitive) {
    let samples = (primitive.samples)();
    let pinned = (primitive.pinned)();
    assert!(!samples.is_empty(), "{}: no samples", primitive.name);
    assert!(!pinned.is_empty(), "{}: no pinned values", primitive.name);
    for known in &pinned {
        let name = primitive.name;
        let outcome = run(primitive, &known.at, &known.ct);
        near(&outcome.value, &known.output, known.tolerance, &format!("{name}: output"));
        assert_eq!(outcome.input_cts.len(), known.input_cts.len(), "{name}: one cotangent for each input");
        for (k, (got, want)) in outcome.input_cts.iter().zip(&known.input_cts).enumerate() {
            near(got, want, known.tolerance, &format!("{name}: cotangent of input {k}"));
        }
    }
    for (index, sample) in samples.iter().enumerate() {
        check_identities(primitive, sample, index as u64);
        let len = sample.inputs.iter().map(|input| input.values().len()).sum::<usize>();
        let mut runner = TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
        runner
            .run(&(vec(-2.0..2.0, len), proptest::num::u64::ANY), |(values, seed)| {
                check_identities(primitive, &moved_to(sample, &values), seed);
                Ok(())
            })
            .unwrap_or_else(|failure| panic!("{}: {failure}", primitive.name));
    }
}

struct Outcome {
    value: Vec<f64>,
    saved: Vec<f64>,
    input_cts: Vec<Vec<f64>>,
}

fn call<'a>(sample: &'a Sample, threads: usize) -> Call<'a> {
    let mut inputs = [View::EMPTY; MAX_INPUTS];
    for (view, input) in inputs.iter_mut().zip(&sample.inputs) {
        *view = input.view();
    }
    Call { inputs, setting: &sample.setting, threads }
}

/// Value and VJP into buffers full of NaN, so that an element left unwritten shows.
fn run(primitive: &Primitive, sample: &Sample, ct: &[f64]) -> Outcome {
    assert_eq!(sample.inputs.len(), primitive.inputs, "{}: inputs of a sample", primitive.name);
    let call = call(sample, 1);
    let Extent { output, saved } = (primitive.extent)(&call);
    let (mut value, mut saved) = (vec![f64::NAN; output.len()], vec![f64::NAN; saved]);
    (primitive.value)(&call, &mut value, &mut saved);
    let mut buffers: [Vec<f64>; MAX_INPUTS] = Default::default();
    for (buffer, input) in buffers.iter_mut().zip(&sample.inputs) {
        buffer.resize(input.values().len(), f64::NAN);
    }
    let into = buffers.each_mut().map(Vec::as_mut_slice);
    (primitive.vjp)(&call, Done { value: &value, saved: &saved }, ct, into);
    let input_cts = buffers.into_iter().take(primitive.inputs).collect();
    Outcome { value, saved, input_cts }
}

fn check_identities(primitive: &Primitive, sample: &Sample, seed: u64) {
    let name = primitive.name;
    let mut stream = SplitMix64::new(seed);
    let mut draw = |len: usize| -> Vec<f64> { (0..len).map(|_| stream.symmetric()).collect() };
    let length = (primitive.extent)(&call(sample, 1)).output.len();
    let ct = draw(length);
    let tangents: Vec<Vec<f64>> = sample.inputs.iter().map(|input| draw(input.values().len())).collect();

    let outcome = run(primitive, sample, &ct);
    let mut tangent = vec![f64::NAN; length];
    let done = Done { value: &outcome.value, saved: &outcome.saved };
    let borrowed: Vec<&[f64]> = tangents.iter().map(Vec::as_slice).collect();
    (primitive.jvp)(&call(sample, 1), done, &borrowed, &mut tangent);

    let forward = dot(&ct, &tangent);
    let reverse: f64 = outcome.input_cts.iter().zip(&tangents).map(|(a, b)| dot(a, b)).sum();
    let size: f64 = outcome.input_cts.iter().zip(&tangents).map(|(a, b)| magnitude(a, b)).sum();
    let allowed = 1e-13 * (size + magnitude(&ct, &tangent)) + 1e-300;
    assert!((forward - reverse).abs() <= allowed, "{name}: ⟨u, Jv⟩ = {forward}, ⟨Jᵀu, v⟩ = {reverse}");

    let shifted = |sign: f64| {
        let mut values = Vec::new();
        for (input, tangent) in sample.inputs.iter().zip(&tangents) {
            values.extend(input.values().iter().zip(tangent).map(|(x, t)| x + sign * STEP * t));
        }
        run(primitive, &moved_to(sample, &values), &ct).value
    };
    let (above, below) = (shifted(1.0), shifted(-1.0));
    for (i, exact) in tangent.iter().enumerate() {
        let difference = (above[i] - below[i]) / (2.0 * STEP);
        let allowed = 2e-7 * (1.0 + exact.abs() + outcome.value[i].abs());
        assert!((exact - difference).abs() <= allowed, "{name}: element {i}: JVP {exact}, differences {difference}");
    }
}

/// The sample with other primals: the given elements, input after input.
fn moved_to(sample: &Sample, mut values: &[f64]) -> Sample {
    let mut inputs = Vec::new();
    for input in &sample.inputs {
        let (own, rest) = values.split_at(input.values().len());
        inputs.push(Tensor::new(input.shape(), own.to_vec()));
        values = rest;
    }
    Sample { inputs, setting: sample.setting.clone() }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn magnitude(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x * y).abs()).sum()
}

fn near(got: &[f64], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}: length");
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= tolerance, "{what}, element {i}: {got}, known {want}");
    }
}

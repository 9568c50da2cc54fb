//! Of every primitive: its known values, and ⟨u, Jv⟩ = ⟨Jᵀu, v⟩ at its samples.

use crate::autograd::primitive::{Call, Done, MAX_INPUTS, Primitive, Sample};
use crate::autograd::primitives::PRIMITIVES;
use crate::autograd::tensor::{Shape, View};
use crate::numeric::random::SplitMix64;
use crate::selfcheck::Answers;

pub(super) fn ask(answers: &mut Answers) {
    let wrong = |is_right: fn(&Primitive) -> bool| -> Vec<&str> {
        PRIMITIVES.iter().filter(|primitive| !is_right(primitive)).map(|primitive| primitive.name).collect()
    };
    let count = PRIMITIVES.len();
    answers.equal(format!("of {count} primitives, those that miss a pinned value"), vec![], wrong(pinned_hold));
    answers.equal("those whose JVP and VJP are not each other's transpose", vec![], wrong(is_transposed));
}

struct Outcome {
    value: Vec<f64>,
    input_cts: Vec<Vec<f64>>,
    tangent: Vec<f64>,
}

/// Value, VJP of `ct` and JVP of `tangents`, each drawn where it is not given.
fn run(primitive: &Primitive, sample: &Sample, ct: Option<&[f64]>) -> (Outcome, Vec<f64>, Vec<Vec<f64>>) {
    let mut inputs = [View { shape: Shape::matrix(0, 0), values: &[] }; MAX_INPUTS];
    inputs.iter_mut().zip(&sample.inputs).for_each(|(view, input)| *view = input.view());
    let call = Call { inputs, setting: &sample.setting, threads: 1 };
    let extent = (primitive.extent)(&call);
    let mut stream = SplitMix64::new(1);
    let mut draw = |len: usize| -> Vec<f64> { (0..len).map(|_| stream.symmetric()).collect() };
    let ct = ct.map_or_else(|| draw(extent.output.len()), <[f64]>::to_vec);
    let tangents: Vec<Vec<f64>> = sample.inputs.iter().map(|input| draw(input.values().len())).collect();
    let (mut value, mut saved) = (vec![f64::NAN; extent.output.len()], vec![f64::NAN; extent.saved]);
    (primitive.value)(&call, &mut value, &mut saved);
    let mut into: [Vec<f64>; MAX_INPUTS] = Default::default();
    into.iter_mut().zip(&sample.inputs).for_each(|(into, input)| into.resize(input.values().len(), f64::NAN));
    let done = Done { value: &value, saved: &saved };
    (primitive.vjp)(&call, done, &ct, into.each_mut().map(Vec::as_mut_slice));
    let mut tangent = vec![f64::NAN; value.len()];
    let borrowed: Vec<&[f64]> = tangents.iter().map(Vec::as_slice).collect();
    (primitive.jvp)(&call, done, &borrowed, &mut tangent);
    let input_cts = into.into_iter().take(primitive.inputs).collect();
    (Outcome { value, input_cts, tangent }, ct, tangents)
}

fn pinned_hold(primitive: &Primitive) -> bool {
    (primitive.pinned)().iter().all(|known| {
        let (outcome, ..) = run(primitive, &known.at, Some(&known.ct));
        let near = |got: &[f64], want: &[f64]| {
            got.len() == want.len() && got.iter().zip(want).all(|(got, want)| (got - want).abs() <= known.tolerance)
        };
        near(&outcome.value, &known.output)
            && outcome.input_cts.len() == known.input_cts.len()
            && outcome.input_cts.iter().zip(&known.input_cts).all(|(got, want)| near(got, want))
    })
}

fn is_transposed(primitive: &Primitive) -> bool {
    (primitive.samples)().iter().all(|sample| {
        let (outcome, ct, tangents) = run(primitive, sample, None);
        let terms = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).collect::<Vec<f64>>();
        let forward = terms(&ct, &outcome.tangent);
        let reverse: Vec<f64> =
            outcome.input_cts.iter().zip(&tangents).flat_map(|(ct, tangent)| terms(ct, tangent)).collect();
        let size: f64 = forward.iter().chain(&reverse).map(|x| x.abs()).sum();
        let gap = forward.iter().sum::<f64>() - reverse.iter().sum::<f64>();
        gap.abs() <= 1e-13 * size + 1e-300
    })
}

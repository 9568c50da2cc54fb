//! What the engine's tests share: the golden files, distances, the default decoder.

use receipt::autograd::{Arena, Gradients, Parameters};
use receipt::decoder::pass::{self, Arithmetic};
use receipt::decoder::{Config, Decoder, Microbatch, initial};
use serde_json::Value;

/// The files under `fixtures/golden/`, parsed.
pub(crate) fn golden(name: &str) -> Value {
    let text = match name {
        "activations" => include_str!("../../fixtures/golden/activations.json"),
        "adamw_steps" => include_str!("../../fixtures/golden/adamw_steps.json"),
        "exact_mp" => include_str!("../../fixtures/golden/exact_mp.json"),
        "exact_ops" => include_str!("../../fixtures/golden/exact_ops.json"),
        "exact_steps" => include_str!("../../fixtures/golden/exact_steps.json"),
        "masked_variant" => include_str!("../../fixtures/golden/masked_variant.json"),
        "model" => include_str!("../../fixtures/golden/model.json"),
        "ops" => include_str!("../../fixtures/golden/ops.json"),
        _ => panic!("no golden file {name}"),
    };
    serde_json::from_str(text).unwrap()
}

/// All numbers in a value, depth first, in the order of the document.
pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Number(number) => vec![number.as_f64().unwrap()],
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => panic!("no number: {other}"),
    }
}

/// An object's arrays, one tensor after the other in the order of the parameters.
pub(crate) fn tensors(value: &Value, parameters: &Parameters) -> Vec<f64> {
    let values: Vec<f64> = parameters.tensors().iter().flat_map(|tensor| numbers(&value[&tensor.name])).collect();
    assert_eq!(values.len(), parameters.values().len());
    values
}

/// How far numbers are from reference numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distance {
    /// The largest absolute difference.
    pub(crate) max_abs: f64,
    /// The L2 norm of the difference over that of the reference.
    pub(crate) relative_l2: f64,
}

/// The distance of `got` from `reference`.
pub(crate) fn distance(got: &[f64], reference: &[f64]) -> Distance {
    assert_eq!(got.len(), reference.len());
    let norm = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>().sqrt();
    let difference: Vec<f64> = got.iter().zip(reference).map(|(a, b)| a - b).collect();
    Distance {
        max_abs: difference.iter().fold(0.0, |max, d| d.abs().max(max)),
        relative_l2: norm(&difference) / norm(reference),
    }
}

/// The default decoder with the golden weights.
pub(crate) fn default_decoder() -> (Decoder, Parameters) {
    let decoder = Decoder::new(Config::default()).unwrap();
    let parameters = decoder.initial_parameters(initial::GOLDEN_SEED);
    (decoder, parameters)
}

/// The summed loss of all microbatches, and the sum of `weight` times each one's gradient.
pub(crate) fn accumulate(
    decoder: &Decoder,
    parameters: &Parameters,
    microbatches: &[Microbatch],
    weight: f64,
    arithmetic: Arithmetic,
) -> (f64, Gradients) {
    let (mut gradients, mut arena) = (Gradients::zeros(parameters), Arena::default());
    let mut loss = 0.0;
    for microbatch in microbatches {
        loss +=
            pass::backward(decoder, parameters, microbatch, weight, arithmetic, &mut gradients, &mut arena).unwrap();
    }
    (loss, gradients)
}

/// The bits of every number.
pub(crate) fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| x.to_bits()).collect()
}

//! Reads the golden files.

use serde_json::Value;

/// The files under `fixtures/golden/`, parsed.
pub(crate) fn read(name: &str) -> Value {
    let text = match name {
        "activations" => include_str!("../../fixtures/golden/activations.json"),
        "adamw_steps" => include_str!("../../fixtures/golden/adamw_steps.json"),
        "exact_mp" => include_str!("../../fixtures/golden/exact_mp.json"),
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

/// An object's arrays, one tensor after the other in the order of `names`.
pub(crate) fn tensors<'a>(value: &Value, names: impl IntoIterator<Item = &'a str>) -> Vec<f64> {
    names.into_iter().flat_map(|name| numbers(&value[name])).collect()
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
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    let difference: Vec<f64> = got.iter().zip(reference).map(|(a, b)| a - b).collect();
    Distance {
        max_abs: difference.iter().fold(0.0, |max, d| max.max(d.abs())),
        relative_l2: norm(&mut difference.iter().copied()) / norm(&mut reference.iter().copied()),
    }
}

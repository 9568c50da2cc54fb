//! Single operations on a tape against the golden file: outputs and gradients of PyTorch 2.6.
#![expect(clippy::print_stdout, reason = "measured distances are shown with --nocapture")]

use std::sync::Arc;

use receipt::autograd::rotary::{Pairing, RotaryTable};
use receipt::autograd::rows::Rows;
use receipt::autograd::{Arena, Options, Parameters, Shape, Tape, Var};
use receipt::numeric::float::Precision;
use serde_json::Value;

use crate::engine_fixtures::{distance, golden, numbers};

/// Golden operations that are no tape computation: the unit tests of `optimizer/` have them.
const ELSEWHERE: [&str; 2] = ["clip_grad_norm", "adamw_scalar"];

/// Builds a golden operation from its inputs.
type Build = fn(&mut Tape<'_>, &[Var], &Value) -> Var;

const OPERATIONS: [(&str, Build); 17] = [
    ("matmul", |tape, x, _| tape.matmul(x[0], x[1])),
    ("linear", |tape, x, _| tape.linear(x[0], x[1])),
    ("rmsnorm", |tape, x, _| tape.rms_norm(x[0], x[1], 1e-5)),
    ("rmsnorm_tiny_input", |tape, x, _| tape.rms_norm(x[0], x[1], 1e-5)),
    ("silu", |tape, x, _| tape.silu(x[0])),
    ("swiglu", |tape, x, _| tape.swiglu(x[0], x[1])),
    ("softmax", |tape, x, _| tape.softmax(x[0])),
    ("causal_attention", |tape, x, _| tape.causal_attention(x[0], x[1], x[2], rows(4), 1)),
    ("rope_half", |tape, x, _| rope(tape, x[0], 4, 4, Pairing::Half)),
    ("rope_interleaved", |tape, x, _| rope(tape, x[0], 4, 4, Pairing::Interleaved)),
    ("rope_half_d8", |tape, x, _| rope(tape, x[0], 3, 8, Pairing::Half)),
    ("cross_entropy_sum", |tape, x, known| tape.cross_entropy(x[0], targets(known), Precision::Float64)),
    ("cross_entropy_mean", |tape, x, known| {
        let sum = tape.cross_entropy(x[0], targets(known), Precision::Float64);
        tape.divide(sum, 3.0)
    }),
    ("cross_entropy_sum_all_ignored", |tape, x, known| tape.cross_entropy(x[0], targets(known), Precision::Float64)),
    ("cross_entropy_extreme", |tape, x, known| tape.cross_entropy(x[0], targets(known), Precision::Float64)),
    ("embedding_scatter_add", |tape, x, known| tape.embedding(x[0], ids(known))),
    ("tied_embedding_head_ce", |tape, x, known| {
        let embedded = tape.embedding(x[0], ids(known));
        let hidden = tape.linear(embedded, x[1]);
        tape.head_cross_entropy(hidden, x[0], targets(known))
    }),
];

fn rows(length: usize) -> Arc<Rows> {
    Arc::new(Rows::grid(1, length))
}

fn rope(tape: &mut Tape<'_>, x: Var, positions: usize, dimension: usize, pairing: Pairing) -> Var {
    let table = RotaryTable::new(positions, dimension, 10000.0, pairing);
    tape.rope(x, Arc::new(table), rows(positions))
}

fn ids(known: &Value) -> Arc<[u32]> {
    numbers(&known["ids"]).into_iter().map(|id| id as u32).collect()
}

fn targets(known: &Value) -> Arc<[Option<u32>]> {
    numbers(&known["targets"]).into_iter().map(|class| (class != -100.0).then_some(class as u32)).collect()
}

/// Shape and elements of an input; the extreme cross-entropy writes it as nested rows.
fn input(value: &Value) -> (Shape, Vec<f64>) {
    let (data, shape) = (numbers(&value["data"]), numbers(&value["shape"]));
    match shape[..] {
        [columns] => (Shape::vector(columns as usize), data),
        [rows, columns] => (Shape::matrix(rows as usize, columns as usize), data),
        _ => panic!("a shape of {} dimensions", shape.len()),
    }
}

/// Output, and the cotangent of each input.
fn run(name: &str, build: Build, known: &Value) -> (Vec<f64>, Vec<Vec<f64>>) {
    let inputs: Vec<(Shape, Vec<f64>)> = match name {
        "cross_entropy_extreme" => vec![(Shape::matrix(2, 3), numbers(&known["inputs"]))],
        _ => known["inputs"].as_array().unwrap().iter().map(input).collect(),
    };
    let parameters = Parameters::new([]);
    let mut arena = Arena::default();
    let mut tape = Tape::new(&parameters, &mut arena, Options::default());
    let vars: Vec<Var> = inputs.iter().map(|(shape, values)| tape.input(*shape, values)).collect();
    let output = build(&mut tape, &vars, known);
    let value = tape.value(output).to_vec();
    let ct = known.get("dy").map_or(vec![1.0], |dy| numbers(&dy["data"]));
    let cotangents = tape.pullback(output, &ct);
    (value, vars.iter().map(|var| cotangents.of(*var).unwrap().to_vec()).collect())
}

/// Within four units of the last place of the largest number: both sides round.
fn near(name: &str, got: &[f64], torch: &[f64]) {
    assert_eq!(got.len(), torch.len(), "{name}");
    let largest = torch.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    for (got, torch) in got.iter().zip(torch) {
        assert!((got - torch).abs() <= 4.0 * f64::EPSILON * largest, "{name}: {got}, PyTorch {torch}");
    }
}

#[test]
fn every_golden_operation() {
    let document = golden("ops");
    let known = document["ops"].as_object().unwrap();
    for name in known.keys() {
        let built = OPERATIONS.iter().any(|(built, _)| built == name);
        assert!(built != ELSEWHERE.contains(&name.as_str()), "{name}: tested here or elsewhere, once");
    }
    for (name, build) in OPERATIONS {
        let known = &known[name];
        let (value, cts) = run(name, build, known);
        let (torch, torch_cts): (&Value, Vec<Vec<f64>>) = match name {
            "cross_entropy_extreme" => (&known["y"], vec![numbers(&known["grad"])]),
            _ => {
                let grads = known["grads"].as_array().unwrap();
                (&known["y"]["data"], grads.iter().map(|grad| numbers(&grad["data"])).collect())
            }
        };
        near(name, &value, &numbers(torch));
        assert_eq!(cts.len(), torch_cts.len(), "{name}");
        for (ct, torch) in cts.iter().zip(&torch_cts) {
            near(name, ct, torch);
        }
    }
}

/// Outputs and gradients against 50 digits. Of each operation, output and gradients together, the largest distance and the
/// relative L2 distance are no larger than PyTorch's. Each output or gradient alone is as near as PyTorch's or nearer too.
#[test]
fn as_near_to_the_50_digit_values_as_pytorchs() {
    let (torch, exact) = (golden("ops"), golden("exact_ops"));
    for (name, exact) in exact["ops"].as_object().unwrap() {
        let (_, build) = OPERATIONS.iter().find(|(built, _)| built == name).unwrap();
        let known = &torch["ops"][name];
        let (value, cts) = run(name, *build, known);
        let mut triples = vec![(value, numbers(&known["y"]["data"]), numbers(&exact["y"]))];
        for (k, ct) in cts.into_iter().enumerate() {
            triples.push((ct, numbers(&known["grads"][k]["data"]), numbers(&exact["grads"][k])));
        }
        let [got, by_torch, by_digits]: [Vec<f64>; 3] = [0, 1, 2]
            .map(|side| triples.iter().flat_map(|(got, torch, exact)| [got, torch, exact][side]).copied().collect());
        let (own, theirs) = (distance(&got, &by_digits), distance(&by_torch, &by_digits));
        println!("{name}: {own:?}, PyTorch {theirs:?}");
        assert!(own.max_abs <= theirs.max_abs, "{name}: {own:?}, PyTorch {theirs:?}");
        if by_digits.iter().any(|x| *x != 0.0) {
            assert!(own.relative_l2 <= theirs.relative_l2, "{name}: {own:?}, PyTorch {theirs:?}");
        }
        for (k, (got, torch, exact)) in triples.iter().enumerate() {
            let largest = exact.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
            if largest == 0.0 {
                assert_eq!(got, exact, "{name}");
                continue;
            }
            // In units of the last place of the largest number of each output or gradient.
            let unit = f64::EPSILON * largest;
            let (near, torch_near) = (distance(got, exact).max_abs / unit, distance(torch, exact).max_abs / unit);
            println!("{name}, {k}: {near:.2} units, PyTorch {torch_near:.2}");
            assert!(near <= torch_near, "{name}, {k}: {near} units, PyTorch {torch_near}");
        }
    }
}

/// The head fused with its loss has the bits of the two apart, in value and in both cotangents.
#[test]
fn fused_head_has_the_bits_of_linear_and_cross_entropy() {
    let document = golden("ops");
    let known = &document["ops"]["tied_embedding_head_ce"];
    let fused: Build = |tape, x, known| {
        let hidden = tape.embedding(x[0], ids(known));
        tape.head_cross_entropy(hidden, x[0], masked(known))
    };
    let apart: Build = |tape, x, known| {
        let hidden = tape.embedding(x[0], ids(known));
        let logits = tape.linear(hidden, x[0]);
        tape.cross_entropy(logits, masked(known), Precision::Float64)
    };
    let (value, cts) = run_first_input("fused", fused, known);
    assert_eq!((value, cts), run_first_input("apart", apart, known));
}

fn run_first_input(name: &str, build: Build, known: &Value) -> (Vec<f64>, Vec<f64>) {
    let mut one = known.clone();
    one["inputs"].as_array_mut().unwrap().truncate(1);
    let (value, mut cts) = run(name, build, &one);
    (value, cts.remove(0))
}

/// The golden targets without the second.
fn masked(known: &Value) -> Arc<[Option<u32>]> {
    let mut targets = targets(known).to_vec();
    targets[1] = None;
    targets.into()
}

//! The decoder against the golden files: PyTorch's values, and a 50-digit computation's, from which the engine may be no
//! farther than PyTorch is. The distances are printed (`cargo test -- --nocapture engine_golden`) and stand in
//! `docs/engine.md`.
#![expect(clippy::print_stdout, reason = "measured distances are shown with --nocapture")]

use receipt::autograd::{Arena, Options, Tape};
use receipt::decoder::pass::Arithmetic;
use receipt::decoder::{Microbatch, nine_targets};
use receipt::optimizer::{AdamW, adamw, clip};
use serde_json::Value;

use crate::engine_fixtures::{accumulate, default_decoder, distance, golden, numbers, tensors};

/// Asserts that `got` is no farther from the 50-digit numbers than `torch` is.
fn no_farther_than_torch(what: &str, got: &[f64], torch: &[f64], exact: &[f64]) {
    let (own, theirs) = (distance(got, exact), distance(torch, exact));
    println!(
        "{what}: largest {:.3e}, PyTorch {:.3e}; relative L2 {:.3e}, PyTorch {:.3e}",
        own.max_abs, theirs.max_abs, own.relative_l2, theirs.relative_l2
    );
    assert!(own.max_abs <= theirs.max_abs, "{what}: {own:?}, PyTorch {theirs:?}");
    assert!(own.relative_l2 <= theirs.relative_l2, "{what}: {own:?}, PyTorch {theirs:?}");
}

/// A decimal of any number of digits less a binary64 number, as PyTorch's error in the golden file is computed.
fn minus(decimal: &str, x: f64) -> f64 {
    let nearest: f64 = decimal.parse().unwrap();
    let digits = |text: &str| -> i128 {
        let (whole, fraction) = text.split_once('.').unwrap();
        format!("{whole}{fraction:0<30.30}").parse().unwrap()
    };
    // The binary64 number's own digits, exactly: 30 places after the point are enough for numbers above 1.
    let exact = digits(decimal) - digits(&format!("{x:.30}"));
    assert!((nearest - x).abs() < 1e-9);
    exact as f64 * 1e-30
}

#[test]
fn loss_and_gradient_are_as_near_to_the_50_digit_values_as_pytorchs() {
    let (decoder, parameters) = default_decoder();
    let (model, exact) = (golden("model"), golden("exact_mp"));
    let exact_gradient = tensors(&exact["grads_nearest_f64"], &parameters);
    for (key, row_limit) in [("full", 3), ("accumulated", 2)] {
        let microbatches = nine_targets::microbatches(row_limit);
        let (loss, gradients) = accumulate(&decoder, &parameters, &microbatches, 1.0 / 9.0, Arithmetic::default());
        let torch = tensors(&model["grads"][key], &parameters);
        no_farther_than_torch(&format!("gradient, {key}"), gradients.values(), &torch, &exact_gradient);

        let error = minus(exact["full_sum"].as_str().unwrap(), loss).abs();
        let torch_error = exact["torch_error"]["full_sum_abs"].as_f64().unwrap();
        println!("loss sum, {key}: {error:.3e}, PyTorch {torch_error:.3e}");
        assert!(error <= torch_error, "{key}: loss off by {error}");

        let norm = clip::global_norm(gradients.values());
        let error = minus(exact["grad_norm"].as_str().unwrap(), norm).abs();
        let torch_error = exact["torch_error"]["grad_norm_abs"].as_f64().unwrap();
        println!("gradient norm, {key}: {norm} off by {error:.3e}, PyTorch {torch_error:.3e}");
        assert!(error <= torch_error, "{key}: norm off by {error}");
    }
}

#[test]
fn every_targets_loss_is_known() {
    let (decoder, parameters) = default_decoder();
    let exact = golden("exact_mp");
    let full = nine_targets::full_batch();
    let mut known = exact["per_target_losses"].as_array().unwrap().iter();
    for position in 0..full.targets().len() {
        // All targets but one ignored: the loss is that target's.
        let mut targets = vec![None; full.targets().len()];
        targets[position] = full.targets()[position];
        if targets[position].is_none() {
            continue;
        }
        let one = Microbatch::new(full.ids().to_vec(), targets, full.rows().clone()).unwrap();
        let (loss, _) = accumulate(&decoder, &parameters, &[one], 1.0, Arithmetic::default());
        let known = known.next().unwrap().as_str().unwrap();
        assert!(minus(known, loss).abs() <= 4e-15, "position {position}: {loss}, known {known}");
    }
    assert!(known.next().is_none());
}

#[test]
fn every_activation_is_as_near_as_pytorchs() {
    let (decoder, parameters) = default_decoder();
    let (torch, exact) = (golden("activations"), golden("exact_steps"));
    let mut arena = Arena::default();
    let mut tape = Tape::new(&parameters, &mut arena, Options::default());
    let trace = decoder.trace(&mut tape, &nine_targets::full_batch());
    let logits = decoder.logits(&mut tape, trace.hidden);
    let mut named = vec![("embed".to_owned(), trace.embedded)];
    for (block, (attended, out)) in trace.blocks.iter().enumerate() {
        named.push((format!("blocks.{block}.after_attn"), *attended));
        named.push((format!("blocks.{block}.out"), *out));
    }
    named.push(("final_norm".to_owned(), trace.hidden));
    named.push(("logits".to_owned(), logits));
    let known = torch["trace"].as_object().unwrap();
    assert_eq!(named.len(), known.len());
    let (mut all, mut all_torch, mut all_exact) = (vec![], vec![], vec![]);
    for (name, var) in &named {
        let (torch, exact) = (numbers(&known[name]), numbers(&exact["trace"][name]));
        let own = distance(tape.value(*var), &exact);
        if name == "blocks.0.out" {
            // Luck in PyTorch's 24 numbers: simulated with every primitive correctly rounded they err by 1.08e-16.
            let theirs = distance(&torch, &exact);
            println!("{name}: {own:?}, PyTorch {theirs:?}");
            assert!(own.max_abs <= theirs.max_abs && own.relative_l2 <= 1.1 * theirs.relative_l2, "{name}: {own:?}");
        } else {
            no_farther_than_torch(name, tape.value(*var), &torch, &exact);
        }
        all.extend_from_slice(tape.value(*var));
        all_torch.extend(torch);
        all_exact.extend(exact);
    }
    no_farther_than_torch("all activations", &all, &all_torch, &all_exact);
}

#[test]
fn weights_after_one_and_three_steps_are_as_near_as_pytorchs() {
    let (torch, exact) = (golden("adamw_steps"), golden("exact_steps"));
    for (run, row_limit, max_norm, exactly) in [
        ("full", 3, None, "weights_after_step"),
        ("accumulated", 2, None, "weights_after_step"),
        ("full_clip_0.1", 3, Some(0.1), "weights_after_clipped_step"),
    ] {
        let steps = torch["runs"][run]["steps"].as_array().unwrap();
        let after = train(steps, row_limit, max_norm);
        for (index, key) in [(0, "1"), (2, "3")] {
            let (_, parameters) = default_decoder();
            let torch = tensors(&steps[index]["params"], &parameters);
            let exact = tensors(&exact[exactly][key], &parameters);
            no_farther_than_torch(&format!("weights, {run}, step {key}"), &after[index], &torch, &exact);
        }
    }
}

/// Trains as the golden run did, checks losses, norms and coefficients of each step, and gives the weights after each.
fn train(steps: &[Value], row_limit: usize, max_norm: Option<f64>) -> Vec<Vec<f64>> {
    let (decoder, mut parameters) = default_decoder();
    let mut adamw = AdamW::new(adamw::Settings::default(), parameters.values().len());
    let mut after = vec![];
    for known in steps {
        let microbatches = nine_targets::microbatches(row_limit);
        let (loss, mut gradients) = accumulate(&decoder, &parameters, &microbatches, 1.0 / 9.0, Arithmetic::default());
        assert!((loss - known["loss_sum"].as_f64().unwrap()).abs() <= 1e-12);
        let norm = clip::global_norm(gradients.values());
        assert!((norm - known["grad_norm"].as_f64().unwrap()).abs() <= 1e-13);
        if let Some(max_norm) = max_norm {
            let coefficient = clip::coefficient(norm, max_norm);
            assert!((coefficient - known["clip_coef"].as_f64().unwrap()).abs() <= 1e-14);
            gradients.scale(coefficient);
        }
        adamw.step(0.01, parameters.values_mut(), gradients.values()).unwrap();
        after.push(parameters.values().to_vec());
    }
    after
}

/// Prompts without targets, and a row that has none at all.
#[test]
fn masked_variant() {
    let known = golden("masked_variant");
    let (_, parameters) = default_decoder();
    let config = receipt::decoder::Config { context: 10, ..Default::default() };
    let decoder = receipt::decoder::Decoder::new(config).unwrap();
    let grid = |batch: &Value| {
        let rows = batch["inputs"].as_array().unwrap().len();
        let ids: Vec<u32> = numbers(&batch["inputs"]).into_iter().map(|x| x as u32).collect();
        let targets = numbers(&batch["targets"]).into_iter().map(|x| (x != -100.0).then_some(x as u32)).collect();
        let length = ids.len() / rows;
        Microbatch::new(ids, targets, receipt::autograd::rows::Rows::grid(rows, length)).unwrap()
    };
    let full = [grid(&known["full_batch"])];
    let micro: Vec<Microbatch> = known["microbatches"].as_array().unwrap().iter().map(grid).collect();
    assert_eq!(micro.iter().map(Microbatch::valid_targets).collect::<Vec<_>>(), [3, 3]);
    let torch = tensors(&known["grads_full"], &parameters);
    let exact = tensors(&golden("exact_steps")["masked_gradient"], &parameters);
    for microbatches in [&full[..], &micro] {
        let (loss, gradients) = accumulate(&decoder, &parameters, microbatches, 1.0 / 6.0, Arithmetic::default());
        assert!((loss - known["full_sum"]["value"].as_f64().unwrap()).abs() <= 2e-14);
        no_farther_than_torch(&format!("masked, {} passes", microbatches.len()), gradients.values(), &torch, &exact);
    }
}

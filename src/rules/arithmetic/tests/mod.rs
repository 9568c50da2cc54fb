//! The rules on small runs that differ from a right one in as little as possible.
mod buffers;

use super::testing::codes;
use super::testing::judged;
use crate::ledger::sample::Run;
use crate::ledger::sample::backward;
use crate::ledger::sample::contract;
use crate::ledger::sample::step;
use serde_json::Value;
use serde_json::json;

/// Changes one value of the example, by JSON Pointer into its events.
type Change<'a> = (&'a str, Value);

/// Targets [3,6,1], loss sums [1.2,4.8,0.4], gradient numerators [1.5,−0.6,0.1], fully witnessed and right, but for the
/// changes; `null` takes a field out.
fn example(with: Value, changes: &[Change<'_>]) -> Run {
    let microbatch = |index: usize, targets: u64, loss: f64, gradient: f64, accumulated: f64| {
        let fields = json!({"backward_loss": loss / 10.0, "gradient_sum": [gradient, -gradient],
                            "accumulated": [accumulated, -accumulated], "unshifted_targets": targets + 1,
                            "rows": 1, "slots": targets + 2});
        backward(0, &format!("m{index}"), targets, loss, fields)
    };
    let norm = 0.1 * 2.0_f64.sqrt();
    let mut events = json!([
        microbatch(0, 3, 1.2, 1.5, 0.15),
        microbatch(1, 6, 4.8, -0.6, 0.09),
        microbatch(2, 1, 0.4, 0.1, 0.1),
        {"clip": {"max_norm": 1.0, "norm": norm}},
        {"logged": {"window": 0, "loss": 0.64, "denominator": 10, "gradient": [0.1, -0.1], "grad_norm": norm}},
        step(0),
        "zero_grad",
    ]);
    for (pointer, value) in changes {
        let (object, key) = pointer.rsplit_once('/').expect("a pointer");
        let object = events.pointer_mut(object).and_then(Value::as_object_mut).expect("an object");
        if value.is_null() {
            object.remove(key);
        } else {
            object.insert(key.to_owned(), value.clone());
        }
    }
    let mut declared = json!({"gradient_basis": {"kind": "complete", "dimension": 2}});
    declared.as_object_mut().expect("an object").extend(with.as_object().expect("an object").clone());
    let Value::Array(events) = events else { panic!("an array") };
    Run::new(contract(declared), vec![events])
}

fn fires(changes: &[Change<'_>]) -> Vec<String> {
    codes(&example(json!({}), changes))
}

#[test]
fn a_fully_witnessed_right_window_fires_nothing() {
    assert_eq!(judged(&example(json!({}), &[])), []);
}

#[test]
fn every_witness_fires_its_rule() {
    for (pointer, value, code) in [
        ("/4/logged/loss", json!(0.640001), "GA201"),
        ("/4/logged/gradient", json!([0.1, -0.100001]), "GA202"),
        ("/0/backward/backward_loss", json!(0.1200001), "GA203"),
        ("/4/logged/denominator", json!(11), "GA204"),
        ("/3/clip/norm", json!(0.1415), "GA205"),
        ("/4/logged/grad_norm", json!(0.1415), "GA205"),
        ("/1/backward/accumulated", json!([0.09, 0.09]), "GA207"),
    ] {
        assert!(fires(&[(pointer, value)]).contains(&code.to_owned()), "{pointer}");
    }
}

#[test]
fn the_logged_mean_of_means_of_the_example() {
    let silent = |field| (field, Value::Null);
    let unweighted =
        ["/0/backward/backward_loss", "/1/backward/backward_loss", "/2/backward/backward_loss"].map(silent);
    let mut changes = unweighted.to_vec();
    changes.extend(["/4/logged/gradient", "/4/logged/grad_norm", "/3/clip/norm"].map(silent));
    changes.push(("/3/clip/nonfinite", json!(true)));
    for index in ["/0", "/1", "/2"] {
        let [gradient, accumulated] = ["gradient_sum", "accumulated"].map(|f| format!("{index}/backward/{f}"));
        changes.push((Box::leak(gradient.into_boxed_str()), Value::Null));
        changes.push((Box::leak(accumulated.into_boxed_str()), Value::Null));
    }
    changes.push(("/4/logged/loss", json!(0.533_333_333_333_333_3)));
    let run = example(json!({}), &changes);
    let [(code, message)] = &judged(&run)[..] else { panic!("one finding: {:?}", judged(&run)) };
    assert_eq!(code, "GA201");
    assert!(message.contains("0.5333333333333333") && message.contains("0.64") && message.contains("objective"));
    assert_eq!(run.diagnosed().recipes[0], "mean-of-means");
}

#[test]
fn logs_may_be_rounded_and_averaged() {
    assert_eq!(fires(&[("/4/logged/loss", json!(0.6))]), ["GA201"]);
    assert_eq!(fires(&[("/4/logged/loss", json!(0.6)), ("/4/logged/decimals", json!(1))]), [""; 0]);
    assert_eq!(fires(&[("/4/logged/loss", json!(0.589)), ("/4/logged/decimals", json!(1))]), ["GA201"]);
    // Half a unit of one decimal reaches the boundary itself, and not past it.
    assert_eq!(fires(&[("/4/logged/loss", json!(0.69)), ("/4/logged/decimals", json!(1))]), [""; 0]);
    assert_eq!(fires(&[("/4/logged/loss", json!(0.691)), ("/4/logged/decimals", json!(1))]), ["GA201"]);
    let averaged = |loss: f64, windows: u64| {
        let mut events = Vec::new();
        for window in 0..3_u64 {
            events.push(backward(window, &format!("w{window}"), 2, 2.0 * (window + 1) as f64, json!({})));
            if window == 2 {
                events.push(json!({"logged": {"window": 2, "loss": loss, "windows": windows}}));
            }
            events.push(step(window));
        }
        codes(&Run::new(contract(json!({"accumulation_steps": 1})), vec![events]))
    };
    assert_eq!(averaged(2.0, 3), [""; 0]);
    assert_eq!(averaged(2.5, 2), [""; 0]);
    assert_eq!(averaged(2.5, 3), ["GA201"]);
    // Windows before the record are not known: not judged.
    assert_eq!(averaged(2.5, 4), [""; 0]);
}

#[test]
fn weights_are_judged_after_later_rescales_and_without_auxiliary_losses() {
    let run = |scale: f64, rescale: f64, auxiliary: f64| {
        let fields = |loss: f64| json!({"backward_loss": loss * scale + auxiliary, "auxiliary_loss": auxiliary});
        let events = vec![
            backward(0, "a", 3, 1.2, fields(1.2)),
            backward(0, "b", 7, 2.0, fields(2.0)),
            json!({"rescale": {"factor": rescale}}),
            step(0),
        ];
        codes(&Run::new(contract(json!({"accumulation_steps": 2})), vec![events]))
    };
    assert_eq!(run(1.0, 0.1, 0.0), [""; 0]);
    assert_eq!(run(0.5, 0.2, 3.0), [""; 0]);
    assert_eq!(run(0.1, 0.1, 0.0), ["GA203"]);
}

#[test]
fn a_loss_of_zero_has_no_weight_but_must_stay_zero() {
    let run = |backward_loss: f64| {
        let events = vec![
            backward(0, "a", 3, 0.0, json!({"backward_loss": backward_loss})),
            backward(0, "b", 7, 2.0, json!({"backward_loss": 0.2})),
            step(0),
        ];
        codes(&Run::new(contract(json!({"accumulation_steps": 2})), vec![events]))
    };
    assert_eq!(run(0.0), [""; 0]);
    assert_eq!(run(1e-13), [""; 0]);
    assert_eq!(run(1e-3), ["GA203"]);
}

#[test]
fn windows_that_were_not_stepped_are_not_judged() {
    let mut run = example(json!({}), &[("/0/backward/backward_loss", json!(9.0)), ("/4/logged/loss", json!(9.0))]);
    assert_eq!(codes(&run), ["GA201", "GA203"]);
    run.windows[0].ranks[0].events.retain(|indexed| indexed.event.tag() != "optimizer_step");
    assert_eq!(codes(&run), [""; 0]);
}

#[test]
fn microbatches_without_targets() {
    let run = |loss: Value, gradient: f64| {
        let mut empty = backward(0, "b", 0, 0.0, json!({"gradient_sum": [gradient]}));
        match loss {
            Value::Null => {
                empty["backward"].as_object_mut().expect("an object").remove("loss_sum");
                empty["backward"]["nonfinite"] = json!(true);
            }
            loss => empty["backward"]["loss_sum"] = loss,
        }
        let events = vec![backward(0, "a", 4, 2.0, json!({"gradient_sum": [1.0]})), empty, step(0)];
        let declared = json!({"accumulation_steps": 2, "gradient_basis": {"kind": "complete", "dimension": 1}});
        codes(&Run::new(contract(declared), vec![events]))
    };
    assert_eq!(run(json!(0.0), 0.0), ["GA206 (w)"]);
    assert_eq!(run(json!(0.5), 0.0), ["GA206"]);
    assert_eq!(run(json!(0.0), 0.5), ["GA206"]);
    assert_eq!(run(Value::Null, 0.0), ["GA206"]);
}

#[test]
fn required_evidence_must_be_there() {
    let all = ["weights", "loss", "denominator", "gradient", "norm", "accumulated"];
    assert_eq!(codes(&example(json!({"require": all}), &[])), [""; 0]);
    for (pointer, kind) in [
        ("/1/backward/backward_loss", "weights"),
        ("/4/logged/loss", "loss"),
        ("/4/logged/denominator", "denominator"),
        ("/4/logged/gradient", "gradient"),
        ("/1/backward/accumulated", "accumulated"),
    ] {
        let run = example(json!({"require": all}), &[(pointer, Value::Null)]);
        let findings = judged(&run);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].0 == "GA208" && findings[0].1.contains(kind), "{findings:?}");
    }
    for kind in ["learning_rate", "parameters"] {
        assert_eq!(codes(&example(json!({"require": [kind]}), &[])), ["GA208"]);
    }
    let formula = |formula: &str| codes(&example(json!({"formula": formula}), &[("/1/backward/rows", Value::Null)]));
    assert!(formula("row-weighted/1").contains(&"GA208".to_owned()));
    assert!(!formula("unshifted-count/1").contains(&"GA208".to_owned()));
}

#[test]
fn a_later_log_covers_the_windows_before_it() {
    let run = |last: Option<u64>| {
        let mut events = Vec::new();
        for window in 0..3_u64 {
            events.push(backward(window, &format!("w{window}"), 2, 2.0, json!({})));
            if let Some(windows) = last.filter(|_| window == 2) {
                events.push(json!({"logged": {"window": 2, "loss": 1.0, "windows": windows}}));
            }
            events.push(step(window));
        }
        judged(&Run::new(contract(json!({"accumulation_steps": 1, "require": ["loss"]})), vec![events]))
    };
    assert_eq!(run(Some(3)), []);
    assert!(run(Some(2))[0].1.contains("covers window 0"));
    assert!(run(None)[0].1.contains("the 3 windows from 0 on"));
}

#[test]
fn a_clip_is_compared_only_where_it_is_the_gradients_own() {
    let scaled = json!({"loss_scale": {"policy": "static", "value": 8.0}});
    // Clipped while still scaled (GA507 says so): its norm is no norm of the gradient.
    let wrong = [("/3/clip/norm", json!(8.0)), ("/0/backward/loss_scale", json!(8.0))];
    let buffers = ["/0/backward/accumulated", "/1/backward/accumulated", "/2/backward/accumulated"];
    let mut changes: Vec<Change<'_>> = buffers.map(|pointer| (pointer, Value::Null)).to_vec();
    changes.extend(wrong);
    assert_eq!(codes(&example(scaled, &changes)), [""; 0]);
}

#[test]
fn a_declared_formula_other_than_token_mean_is_what_is_judged() {
    let means = [1.2 / 9.0, 4.8 / 18.0, 0.4 / 3.0];
    let pointers = ["/0/backward/backward_loss", "/1/backward/backward_loss", "/2/backward/backward_loss"];
    let mut changes: Vec<Change<'_>> = pointers.into_iter().zip(means.map(|loss| json!(loss))).collect();
    for pointer in ["/0/backward/accumulated", "/1/backward/accumulated", "/2/backward/accumulated"] {
        changes.push((pointer, Value::Null));
    }
    let gradient = (0.5 - 0.1 + 0.1) / 3.0;
    changes.push(("/4/logged/loss", json!(1.6 / 3.0)));
    changes.push(("/4/logged/gradient", json!([gradient, -gradient])));
    changes.push(("/4/logged/grad_norm", json!(gradient * 2.0_f64.sqrt())));
    changes.push(("/3/clip/norm", json!(gradient * 2.0_f64.sqrt())));
    let run = example(json!({"formula": "mean-of-means/1"}), &changes);
    assert_eq!(judged(&run), []);
    assert_eq!(run.diagnosed().recipes[0], "mean-of-means");
    assert_eq!(codes(&example(json!({}), &changes)), ["GA201", "GA202", "GA203", "GA205"]);
}

#[test]
fn a_carried_window_counts_what_was_carried() {
    let text = r#"{"schema": "accumulation/rank-manifest/1",
      "contract": {"formula": "token-mean/1", "accumulation_steps": 3, "world_size": 1, "tail": "carry",
        "tolerance": {"absolute": 1e-12, "relative": 1e-9}, "precision": "float64"},
      "resume": {"previous_receipt": "0000000000000000000000000000000000000000000000000000000000000000", "window": 4,
        "applied_updates": 4, "ranks": [{"rank": 0, "microbatches": [
          {"microbatch": "a", "valid_targets": 3, "loss_sum": 1.2},
          {"microbatch": "b", "valid_targets": 6, "loss_sum": 4.8}]}]},
      "ranks": [{"rank": 0, "events": [
        {"backward": {"window": 4, "microbatch": "c", "valid_targets": 1, "loss_sum": 0.4, "backward_loss": 0.04}},
        {"logged": {"window": 4, "loss": 0.64, "denominator": 10}},
        {"optimizer_step": {"window": 4, "outcome": "applied"}}]}]}"#;
    let run = Run::from_manifest(text);
    assert_eq!(judged(&run), []);
    let (_, ledger) = &run.tallied()[0];
    assert_eq!((ledger.counts.microbatches, ledger.is_full(), ledger.token_mean), (3, true, Some(0.64)));
    assert_eq!(run.diagnosed().recipes, ["token-mean"]);
    assert_eq!(codes(&Run::from_manifest(&text.replace("0.64", "0.4"))), ["GA201"]);
    // Buffers of a resumed window hold what was carried, which no event tells.
    let carried = r#""loss_sum": 1.2, "gradient_sum": [1.0]}, {"microbatch": "b", "valid_targets": 6, "loss_sum": 4.8,
        "gradient_sum": [1.0]}]}]},"#;
    let (start, end) =
        (text.find(r#""loss_sum": 1.2}"#).expect("a"), text.find(r#""ranks": [{"rank": 0, "ev"#).expect("b"));
    let text = format!("{}{carried}{}", &text[..start], &text[end..])
        .replace(
            r#""precision": "float64""#,
            r#""precision": "float64", "gradient_basis": {"kind": "complete", "dimension": 1}"#,
        )
        .replace(r#""loss_sum": 0.4,"#, r#""loss_sum": 0.4, "gradient_sum": [1.0], "accumulated": [9.0],"#);
    let run = Run::from_manifest(&text);
    assert_eq!(judged(&run), []);
    let (_, ledger) = &run.tallied()[0];
    assert_eq!(ledger.gradients.as_ref().map(|gradients| gradients.token_mean.clone()), Some(vec![0.3]));
}

/// One window of two microbatches on one rank, and what else happens; vectors of one coordinate.
fn two(with: Value, fields: [Value; 2], events: &[Value]) -> Vec<(String, String)> {
    let [first, second] = fields;
    let mut stream = vec![backward(0, "a", 3, 1.2, first), backward(0, "b", 7, 2.0, second)];
    stream.extend(events.iter().cloned());
    let mut declared = json!({"accumulation_steps": 2, "gradient_basis": {"kind": "complete", "dimension": 1}});
    declared.as_object_mut().expect("an object").extend(with.as_object().expect("an object").clone());
    judged(&Run::new(contract(declared), vec![stream]))
}

fn named(findings: &[(String, String)]) -> Vec<&str> {
    findings.iter().map(|(code, _)| code.as_str()).collect()
}

#[test]
fn a_rescale_after_the_step_is_too_late_to_count() {
    let weights = || [json!({"backward_loss": 0.12}), json!({"backward_loss": 0.2})];
    let late = json!({"rescale": {"factor": 0.5}});
    assert_eq!(two(json!({}), weights(), &[step(0), late.clone()]), []);
    assert_eq!(named(&two(json!({}), weights(), &[late, step(0)])), ["GA203"]);
}

#[test]
fn one_factor_over_all_weights_is_a_denominator_even_where_rounding_could_be_that_large() {
    // 10 targets in float16: rounding could plausibly make 8·√12/2048 = 1.4 %.
    let half = || json!({"precision": "float16", "loss_precision": "float16"});
    let weights =
        |left: f64, right: f64| [json!({"backward_loss": 0.12 * left}), json!({"backward_loss": 0.2 * right})];
    let rounded = two(half(), weights(1.01, 0.99), &[step(0)]);
    assert!(rounded[0].1.contains("perturbation"), "{rounded:?}");
    let divided = two(half(), weights(1.0 / 1.01, 1.0 / 1.01), &[step(0)]);
    assert!(divided[0].1.contains("an effective denominator of 10.1"), "{divided:?}");
}

#[test]
fn a_logged_loss_says_whether_rounding_could_do_it() {
    let logged = |loss: f64| {
        let single = json!({"precision": "float32", "loss_precision": "float32"});
        two(single, [json!({}), json!({})], &[json!({"logged": {"window": 0, "loss": loss}}), step(0)])[0].1.clone()
    };
    assert!(logged(0.320_000_1).contains("perturbation"));
    assert!(logged(0.33).contains("different objective"));
}

#[test]
fn a_log_may_count_auxiliary_losses_in_or_out() {
    let fields = || [json!({"auxiliary_loss": 0.05}), json!({"auxiliary_loss": 0.05})];
    let logged = |loss: f64| two(json!({}), fields(), &[json!({"logged": {"window": 0, "loss": loss}}), step(0)]);
    assert_eq!(logged(0.32), []);
    assert_eq!(logged(0.42), []);
    assert_eq!(named(&logged(0.37)), ["GA201"]);
}

#[test]
fn an_averaged_log_is_not_judged_across_a_window_that_was_not_stepped() {
    let mut events = vec![backward(0, "a", 1, 1.0, json!({})), step(0)];
    events.push(backward(1, "b", 1, 3.0, json!({})));
    events.push(backward(2, "c", 1, 5.0, json!({})));
    events.push(json!({"logged": {"window": 2, "loss": 9.0, "windows": 2}}));
    events.push(step(2));
    assert_eq!(codes(&Run::new(contract(json!({"accumulation_steps": 1})), vec![events])), [""; 0]);
}

#[test]
fn a_denominator_may_be_the_declared_formulas_own() {
    let logged = |formula: &str, denominator: u64| {
        let fields = || json!({"unshifted_targets": 8});
        let log = json!({"logged": {"window": 0, "denominator": denominator}});
        named(&two(json!({"formula": formula}), [fields(), fields()], &[log, step(0)])).len()
    };
    assert_eq!([10, 16, 11].map(|denominator| logged("unshifted-count/1", denominator)), [0, 0, 1]);
    assert_eq!([10, 16, 11].map(|denominator| logged("token-mean/1", denominator)), [0, 1, 1]);
    assert_eq!([10, 16, 11].map(|denominator| logged("mean-of-means/1", denominator)), [0, 0, 0]);
}

#[test]
fn of_two_clips_neither_is_compared() {
    let gradients = || [json!({"gradient_sum": [4.0]}), json!({"gradient_sum": [6.0]})];
    let clip = |norm: f64| json!({"clip": {"max_norm": 1.0, "norm": norm}});
    assert_eq!(two(json!({}), gradients(), &[clip(1.0), step(0)]), []);
    assert_eq!(named(&two(json!({}), gradients(), &[clip(2.0), step(0)])), ["GA205"]);
    assert_eq!(two(json!({}), gradients(), &[clip(2.0), clip(1.0), step(0)]), []);
}

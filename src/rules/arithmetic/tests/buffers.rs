//! GA207 on buffers of every kind.
use super::Change;
use super::example;
use super::two;
use crate::ledger::sample::Run;
use crate::ledger::sample::backward;
use crate::ledger::sample::contract;
use crate::ledger::sample::step;
use crate::rules::arithmetic::testing::codes;
use crate::rules::arithmetic::testing::judged;
use serde_json::Value;
use serde_json::json;

#[test]
fn what_a_wrong_buffer_looks_like_is_said() {
    let looks = |values: [f64; 3]| {
        let pointers = ["/0/backward/accumulated", "/1/backward/accumulated", "/2/backward/accumulated"];
        let changes: Vec<Change<'_>> = pointers.into_iter().zip(values.map(|v| json!([v, -v]))).collect();
        let findings = judged(&example(json!({}), &changes));
        findings.into_iter().find(|(code, _)| code == "GA207").expect("GA207").1
    };
    assert!(looks([0.15, -0.06, 0.01]).contains("overwritten"));
    assert!(looks([0.15, 0.15, 0.15]).contains("nothing was added"));
    assert!(looks([0.15, 0.24, 0.49]).contains("added twice"));
    assert!(looks([0.30, 0.54, 1.09]).contains("added twice"));
    assert!(looks([0.25, 0.19, 0.20]).contains("started from zero"));
}

#[test]
fn buffers_are_followed_through_scales_and_rescales_and_not_where_they_are_unknown() {
    let run = |scale: f64, with: Value, tail: &[Value]| {
        let microbatch = |window: u64, index: usize, held: f64| {
            let fields = json!({"gradient_sum": [2.0], "accumulated": [held], "loss_scale": scale});
            backward(window, &format!("w{window}m{index}"), 4, 2.0, fields)
        };
        let mut events = vec![microbatch(0, 0, 4.0 * scale), microbatch(0, 1, 8.0 * scale)];
        events.push(json!({"rescale": {"factor": 0.0625}}));
        events.push(step(0));
        events.extend(tail.iter().cloned());
        let mut declared = json!({"accumulation_steps": 2, "gradient_basis": {"kind": "coordinates", "dimension": 1},
                                  "loss_scale": {"policy": "static", "value": scale}});
        declared.as_object_mut().expect("an object").extend(with.as_object().expect("an object").clone());
        codes(&Run::new(contract(declared), vec![events]))
    };
    let next = |held: f64| {
        let fields = json!({"gradient_sum": [2.0], "accumulated": [held], "loss_scale": 64.0});
        backward(1, "w1", 4, 2.0, fields)
    };
    assert_eq!(run(64.0, json!({}), &[]), [""; 0]);
    // What is left over from the window before is not known, and so not judged until it is cleared.
    assert_eq!(run(64.0, json!({}), &[next(99.0), step(1)]), [""; 0]);
    assert_eq!(run(64.0, json!({}), &[json!("zero_grad"), next(99.0), step(1)]), ["GA207"]);
    assert_eq!(run(64.0, json!({}), &[json!("zero_grad"), next(32.0), step(1)]), [""; 0]);
    assert_eq!(run(64.0, json!({"unobserved": ["zero_grad"]}), &[next(99.0), step(1)]), ["GA207"]);
}

#[test]
fn buffers_are_reduced_where_ranks_really_synced() {
    let run = |last: [f64; 2], with: Value| {
        let rank = |rank: usize, gradients: [f64; 2], held: [f64; 2]| {
            let microbatch = |index: usize| {
                let mut fields = json!({"gradient_sum": [gradients[index]], "accumulated": [held[index]],
                                        "sync": index == 1});
                fields.as_object_mut().expect("an object").extend(with.as_object().expect("an object").clone());
                backward(0, &format!("r{rank}m{index}"), 1, 1.0, fields)
            };
            vec![microbatch(0), microbatch(1), step(0)]
        };
        let ranks = vec![rank(0, [2.0, 4.0], [1.0, last[0]]), rank(1, [6.0, 8.0], [3.0, last[1]])];
        let declared = json!({"accumulation_steps": 2, "world_size": 2, "gradient_reduction": "mean",
                              "gradient_basis": {"kind": "coordinates", "dimension": 1}});
        codes(&Run::new(contract(declared), ranks))
    };
    // f = 2/4: local sums 3 and 7, their mean 5.
    assert_eq!(run([5.0, 5.0], json!({})), [""; 0]);
    assert_eq!(run([3.0, 7.0], json!({})), ["GA207"]);
    assert_eq!(run([3.0, 7.0], json!({"forward_sync": false})), [""; 0]);
}

#[test]
fn buffers_touched_by_what_was_not_recorded_are_not_judged() {
    let fields = |held: f64| json!({"gradient_sum": [10.0], "accumulated": [held]});
    let run = |between: Value| {
        let events =
            vec![backward(0, "a", 3, 1.2, fields(1.0)), between, backward(0, "b", 7, 2.0, fields(99.0)), step(0)];
        let declared = json!({"accumulation_steps": 2, "gradient_basis": {"kind": "complete", "dimension": 1}});
        codes(&Run::new(contract(declared), vec![events]))
    };
    assert_eq!(run(json!({"clip": {"max_norm": 1.0, "norm": 1.0}})), [""; 0]);
    assert_eq!(run(json!({"unscale": {}})), [""; 0]);
    assert_eq!(run(json!("zero_grad")), ["GA207"]);
    let empty = two(json!({}), [fields(1.0), fields(2.0)], &[step(0)]);
    assert_eq!(empty, []);
}

#[test]
fn the_absolute_tolerance_is_for_the_final_gradient_and_not_for_scaled_buffers() {
    // What is left where two contributions cancel is off by 1e-8 once scaled by 2^16, by 1.5e-13 in the gradient.
    let fields =
        |gradient: f64, held: f64| json!({"gradient_sum": [gradient], "accumulated": [held], "loss_scale": 65_536.0});
    let scaled = json!({"loss_scale": {"policy": "static", "value": 65_536.0}});
    let findings = two(scaled, [fields(10.0, 65_536.0), fields(-10.0, 1e-8)], &[step(0)]);
    assert_eq!(findings, []);
}

#[test]
fn ranks_whose_buffers_became_known_later_still_meet_their_peers() {
    let fields = |held: f64, sync: bool| json!({"gradient_sum": [2.0], "accumulated": [held], "sync": sync});
    let rank = |name: &str, first: Value, last: f64| {
        let named = |index: usize| format!("{name}{index}");
        vec![
            backward(0, &named(0), 1, 1.0, first),
            json!("zero_grad"),
            backward(0, &named(1), 1, 1.0, fields(last, true)),
            step(0),
        ]
    };
    let run = |last: f64| {
        let declared = json!({"accumulation_steps": 2, "world_size": 2, "gradient_reduction": "mean",
                              "gradient_basis": {"kind": "complete", "dimension": 1}});
        // Rank 1's first backward has an auxiliary loss, so that its buffers are not known until they are cleared.
        let unknown = json!({"gradient_sum": [2.0], "auxiliary_loss": 1.0, "sync": false});
        let ranks = vec![rank("a", fields(1.0, false), last), rank("b", unknown, last)];
        codes(&Run::new(contract(declared), ranks))
    };
    assert_eq!(run(1.0), [""; 0]);
    assert_eq!(run(3.0), ["GA207"]);
}

//! The ledger on examples worked by hand.
use super::RunTotals;
use super::sample::Run;
use super::sample::backward;
use super::sample::contract;
use super::sample::step;
use serde_json::Value;
use serde_json::json;

/// Targets [3,6,1], loss sums [1.2,4.8,0.4], gradient numerators [1.5,−0.6,0.1], and what was logged.
fn example(logged: Value) -> Run {
    let microbatch = |index: usize, targets, loss_sum, gradient: f64| {
        let gradient = json!({"gradient_sum": [gradient], "backward_loss": loss_sum / 10.0});
        backward(0, &format!("m{index}"), targets, loss_sum, gradient)
    };
    let events = vec![
        microbatch(0, 3, 1.2, 1.5),
        microbatch(1, 6, 4.8, -0.6),
        microbatch(2, 1, 0.4, 0.1),
        json!({"logged": logged}),
        step(0),
    ];
    Run::new(contract(json!({"gradient_basis": {"kind": "complete", "dimension": 1}})), vec![events])
}

#[test]
fn the_example_worked_by_hand() {
    let run = example(json!({"window": 0, "loss": 0.64, "denominator": 10}));
    let (_, ledger) = &run.tallied()[0];
    assert_eq!(ledger.valid_targets(), 10);
    assert_eq!(ledger.token_mean.map(f64::to_bits), Some(0.64_f64.to_bits()));
    let means = ledger.mean_of_means.expect("a mean of means");
    assert_eq!(means.loss, 0.533_333_333_333_333_3);
    assert!((means.absolute_drift - 0.106_666_666_666_666_67).abs() < 1e-15);
    assert!((means.relative_drift.expect("a drift") - 1.0 / 6.0).abs() < 1e-15);
    assert!(ledger.claims[0].loss.expect("a loss").agrees());
    assert!(ledger.claims[0].denominator.expect("a denominator").agrees());
    assert_eq!((ledger.weights.compared, ledger.weights.off), (3, 0));
}

#[test]
fn two_and_four_targets_with_means_one_and_three() {
    let events = vec![backward(0, "a", 2, 2.0, json!({})), backward(0, "b", 4, 12.0, json!({})), step(0)];
    let run = Run::new(contract(json!({"accumulation_steps": 2})), vec![events]);
    let (_, ledger) = &run.tallied()[0];
    assert_eq!(ledger.token_mean, Some(7.0 / 3.0));
    assert_eq!(ledger.mean_of_means.map(|means| means.loss), Some(2.0));
}

#[test]
fn a_mean_of_means_in_the_log_is_a_different_objective() {
    let run = example(json!({"window": 0, "loss": 0.533_333_333_333_333_3}));
    let (_, ledger) = &run.tallied()[0];
    let delta = ledger.claims[0].loss.expect("a loss");
    assert!(!delta.agrees());
    assert_eq!(delta.explanation, Some(crate::numeric::rounding::Explanation::DifferentObjective));
}

#[test]
fn a_window_of_more_than_k_is_not_full() {
    let events = (0..3).map(|index| backward(0, &format!("m{index}"), 1, 1.0, json!({}))).chain([step(0)]).collect();
    let run = Run::new(contract(json!({"accumulation_steps": 2})), vec![events]);
    assert!(!run.tallied()[0].1.is_full());
}

#[test]
fn microbatches_without_targets_add_nothing_to_the_gradient_seen() {
    let fields = json!({"backward_loss": 0.5, "gradient_sum": [4.0]});
    let empty = json!({"backward_loss": 0.0, "gradient_sum": [0.0]});
    let events = vec![backward(0, "a", 4, 2.0, fields), backward(0, "b", 0, 0.0, empty), step(0)];
    let declared = json!({"accumulation_steps": 2, "gradient_basis": {"kind": "complete", "dimension": 1}});
    let run = Run::new(contract(declared), vec![events]);
    let gradients = run.tallied()[0].1.gradients.clone().expect("gradients");
    assert_eq!((gradients.seen, gradients.mean_of_means), (Some(vec![1.0]), None));
}

#[test]
fn totals_leave_out_what_was_carried_or_dropped() {
    let ending = |ending: Value| {
        let names = json!(["b"]);
        let mut fields = json!({"window": 1, "microbatches": names, "valid_targets": 5});
        fields.as_object_mut().expect("an object").extend(ending.as_object().expect("an object").clone());
        let ending = if ending.get("backwards").is_some() { json!({"carry": fields}) } else { json!({"drop": fields}) };
        let events = vec![backward(0, "a", 3, 1.25, json!({})), step(0), backward(1, "b", 5, 2.5, json!({})), ending];
        let run = Run::new(contract(json!({"accumulation_steps": 1})), vec![events]);
        let mut totals = RunTotals::default();
        run.tallied().iter().for_each(|(_, ledger)| totals.add(ledger));
        let report = totals.report().expect("totals");
        (report.windows.get(), report.valid_targets.get(), report.loss_sum.get())
    };
    assert_eq!(ending(json!({})), (1, 3, 1.25));
    assert_eq!(ending(json!({"backwards": 1, "loss_sum": 2.5})), (1, 3, 1.25));
}

#[test]
fn a_window_that_one_rank_stepped_was_stepped() {
    let dropped = json!({"drop": {"window": 0, "microbatches": ["b"], "valid_targets": 1}});
    let ranks = vec![
        vec![backward(0, "a", 1, 1.0, json!({"sync": true})), step(0)],
        vec![backward(0, "b", 1, 1.0, json!({"sync": true})), dropped],
    ];
    let declared = json!({"accumulation_steps": 1, "world_size": 2, "gradient_reduction": "mean"});
    let run = Run::new(contract(declared), ranks);
    assert!(run.tallied()[0].1.stepped_or_skipped());
}

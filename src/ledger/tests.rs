//! The ledger on examples worked by hand.
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

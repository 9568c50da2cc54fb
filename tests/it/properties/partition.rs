//! The same targets, cut into microbatches, dealt to ranks and put into windows in any way, come to the same totals, bit
//! for bit; and a window's loss and gradient do not depend on who held what.
use crate::runs;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A microbatch's numbers: targets, loss numerator, gradient numerator.
type Part = (u64, f64, f64);

/// Numerators over a wide range, so that sums that round on the way would differ.
fn real() -> impl Strategy<Value = f64> {
    (-1.0..1.0f64, -40..40i32).prop_map(|(mantissa, exponent)| mantissa * 2.0f64.powi(exponent))
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    // 36 parts fit into 1 to 4 ranks and 1 to 3 windows evenly.
    prop::collection::vec((1..1000u64, real(), real()), 36)
}

/// The parts in this order, on so many ranks and in so many windows.
fn run(parts: &[Part], ranks: usize, windows: usize) -> Value {
    let steps = parts.len() / ranks / windows;
    let contract = json!({"formula": "token-mean/1", "accumulation_steps": steps, "world_size": ranks, "tail": "flush",
        "tolerance": {"absolute": 0, "relative": 0}, "precision": "float64", "gradient_reduction": "sum",
        "gradient_basis": {"kind": "complete", "dimension": 1}, "unobserved": ["sync"]});
    let mut parts = parts.iter().enumerate();
    let mut events: Vec<Vec<Value>> = vec![vec![]; ranks];
    for window in 0..windows {
        for rank in &mut events {
            rank.push(json!("zero_grad"));
            for (id, &(targets, loss, gradient)) in parts.by_ref().take(steps) {
                rank.push(json!({"backward": {"window": window, "microbatch": format!("m{id}"),
                    "valid_targets": targets, "loss_sum": loss, "gradient_sum": [gradient]}}));
            }
            rank.push(json!({"optimizer_step": {"window": window, "outcome": "applied"}}));
        }
    }
    let ranks: Vec<Value> =
        events.iter().enumerate().map(|(rank, events)| json!({"rank": rank, "events": events})).collect();
    json!({"schema": "accumulation/rank-manifest/1", "contract": contract, "ranks": ranks})
}

/// What must not depend on the partition: the totals of the run.
fn totals(manifest: &Value) -> Value {
    let verified = runs::verify_value(manifest);
    assert_eq!(runs::codes(&verified), []);
    let mut totals = runs::tree(&verified)["totals"].clone();
    let fields = totals.as_object_mut().expect("totals");
    fields.remove("windows");
    fields.remove("updates_applied");
    totals
}

/// What must not depend on who held what in one window.
fn window(manifest: &Value) -> Value {
    let tree = runs::tree(&runs::verify_value(manifest));
    let window = &tree["windows"][0];
    json!([window["valid_targets"], window["loss_sum"], window["loss"], window["gradient"], window["full_batch"]])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn totals_do_not_depend_on_the_partition(
        (parts, shuffled) in parts().prop_flat_map(|parts| (Just(parts.clone()), Just(parts).prop_shuffle())),
        ranks in prop::sample::select(vec![1usize, 2, 3, 4]),
        windows in prop::sample::select(vec![1usize, 3]),
    ) {
        prop_assert_eq!(totals(&run(&parts, 1, 1)), totals(&run(&shuffled, ranks, windows)));
        prop_assert_eq!(window(&run(&parts, 1, 1)), window(&run(&shuffled, ranks, 1)));
    }

    #[test]
    fn totals_do_not_depend_on_how_finely_targets_are_cut(parts in parts(), cuts in prop::collection::vec(any::<bool>(), 36)) {
        // Halving a power-of-two share of a loss is exact, so the finer cut has the very same numbers in it.
        let fine: Vec<Part> = parts.iter().zip(&cuts).flat_map(|(&(targets, loss, gradient), &cut)| {
            let half = (targets, loss / 2.0, gradient / 2.0);
            if cut { vec![half, half] } else { vec![(2 * targets, loss, gradient)] }
        }).collect();
        let coarse: Vec<Part> = parts.iter().map(|&(targets, loss, gradient)| (2 * targets, loss, gradient)).collect();
        prop_assert_eq!(window(&run(&coarse, 1, 1)), window(&run(&fine, 1, 1)));
    }
}

#[test]
fn a_sum_that_rounds_on_the_way_would_be_found() {
    let parts = [(1, 1e16, 1e300), (1, 1.0, 1.0), (1, -1e16, -1e300), (1, 1.0, 1.0)];
    let tree = runs::tree(&runs::verify_value(&run(&parts, 1, 1)));
    assert_eq!(tree["totals"]["loss_sum"], json!(2));
    assert_eq!(tree["windows"][0]["gradient"], json!([0.5]));
}

//! Runs that record what the fully witnessed one cannot: other formulas, schedules and policies, and a carried window
//! with all its clocks.
use crate::runs::{self, document};
use receipt::receipt::Sealed;
use serde_json::{Value, json};

fn run(contract: Value, ranks: &[Value]) -> Value {
    let mut whole = json!({"world_size": ranks.len(), "tail": "flush", "precision": "float64",
        "tolerance": {"absolute": 1e-12, "relative": 1e-9}});
    let fields = contract.as_object().expect("a contract").clone();
    whole.as_object_mut().expect("a contract").extend(fields);
    let ranks: Vec<Value> =
        ranks.iter().enumerate().map(|(rank, events)| json!({"rank": rank, "events": events})).collect();
    json!({"schema": "accumulation/rank-manifest/1", "contract": whole, "ranks": ranks})
}

/// A backward of window `w` with more fields.
fn backward(w: u64, id: &str, targets: u64, sum: f64, loss: f64, more: Value) -> Value {
    let mut fields = json!({"window": w, "microbatch": id, "valid_targets": targets, "loss_sum": sum,
        "backward_loss": loss});
    let more = more.as_object().expect("fields").clone();
    fields.as_object_mut().expect("fields").extend(more);
    json!({"backward": fields})
}

/// A static scale that the step divides out, a cosine, slots as denominator, gradients whose clearing is unobserved.
fn cosine() -> Value {
    let contract = json!({"formula": "slot-mean/1", "accumulation_steps": 2, "unobserved": ["zero_grad"],
        "loss_scale": {"policy": "static", "value": 4.5},
        "scheduler": {"name": "cosine", "peak": 0.1, "warmup_steps": 0, "total_steps": 2, "floor": 0.01}});
    let slots = |slots: u64| json!({"slots": slots, "loss_scale": 4.5});
    let step = |w: u64, rate: f64| json!({"optimizer_step": {"window": w, "outcome": "applied", "loss_scale": 4.5, "learning_rate": rate}});
    run(
        contract,
        &[json!([
            backward(0, "a", 1, 1.0, 0.125, slots(3)),
            backward(0, "b", 4, 2.0, 0.25, slots(5)),
            step(0, 0.1),
            {"scheduler_step": {"learning_rate": 0.055}},
            backward(1, "c", 2, 1.0, 0.25, slots(1)),
            backward(1, "d", 3, 2.0, 0.5, slots(3)),
            step(1, 0.055),
            {"scheduler_step": {"learning_rate": 0.01}}
        ])],
    )
}

/// Parameters that follow from recorded gradients by the declared optimizer, at the contract's own rate: plain numbers
/// of `torch.optim.AdamW` (PyTorch 2.6, the golden file's `adamw_scalar`), and of SGD by hand.
fn followed(optimizer: Value, gradients: &[[f64; 2]], values: &[[f64; 2]]) -> Value {
    let contract = json!({"formula": "token-mean/1", "accumulation_steps": 1, "optimizer": optimizer,
        "gradient_basis": {"kind": "coordinates", "dimension": 2}});
    let mut events = vec![json!({"parameters": {"values": values[0]}})];
    for (w, (gradient, after)) in gradients.iter().zip(&values[1..]).enumerate() {
        let w = w as u64;
        events.push(backward(w, &format!("m{w}"), 2, 1.0, 0.5, json!({})));
        events.push(json!({"logged": {"window": w, "gradient": gradient}}));
        events.push(json!({"optimizer_step": {"window": w, "outcome": "applied"}}));
        events.push(json!({"parameters": {"values": after}}));
        events.push(json!("zero_grad"));
    }
    run(contract, &[json!(events)])
}

fn followed_adamw() -> Value {
    let optimizer = json!({"name": "adamw", "learning_rate": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8,
        "weight_decay": 0.01});
    let values = [
        [0.5, -0.25],
        [0.4899500009999999, -0.23997500049999998],
        [0.48072319522045903, -0.23728763277181758],
        [0.4758382046723898, -0.23520511113222492],
    ];
    followed(optimizer, &[[0.1, -0.2], [0.3, 0.1], [-0.1, 0.0]], &values)
}

fn followed_sgd() -> Value {
    let optimizer = json!({"name": "sgd", "learning_rate": 0.5, "momentum": 0.5, "weight_decay": 0.25});
    followed(optimizer, &[[0.5, -0.25], [0.25, 0.5]], &[[1.0, -2.0], [0.625, -1.625], [0.234375, -1.484375]])
}

/// Stages of K, a constant rate that ticks by epoch, labels counted before the shift, some coordinates only.
fn staged() -> Value {
    let contract = json!({"formula": "unshifted-count/1", "require": ["weights"],
        "accumulation_steps": [{"from_window": 0, "steps": 1}, {"from_window": 2, "steps": 2}],
        "gradient_basis": {"kind": "coordinates", "dimension": 1},
        "optimizer": {"name": "sgd", "learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.0},
        "scheduler": {"name": "constant", "peak": 0.1, "interval": "epoch"}});
    let with = |labels: u64, gradient: f64| json!({"unshifted_targets": labels, "gradient_sum": [gradient]});
    let logged =
        |w: u64, gradient: f64, norm: f64| json!({"logged": {"window": w, "gradient": [gradient], "grad_norm": norm}});
    let step = |w: u64| json!({"optimizer_step": {"window": w, "outcome": "applied", "learning_rate": 0.1}});
    let tick = json!({"scheduler_step": {"learning_rate": 0.1}});
    run(
        contract,
        &[json!([
            backward(0, "a", 3, 1.0, 0.25, with(4, 2.0)),
            logged(0, 0.5, 0.75),
            step(0),
            "zero_grad",
            backward(1, "b", 2, 3.0, 0.75, with(4, 6.0)),
            step(1),
            "epoch_end",
            tick,
            "zero_grad",
            backward(2, "c", 3, 1.0, 0.125, with(4, 2.0)),
            backward(2, "d", 2, 3.0, 0.375, with(4, 6.0)),
            logged(2, 1.0, 1.5),
            step(2),
            "epoch_end",
            tick
        ])],
    )
}

/// One window that is full, where a short one would be dropped.
fn dropping() -> Value {
    let contract = json!({"formula": "token-mean/1", "accumulation_steps": 1, "tail": "drop"});
    let step = json!({"optimizer_step": {"window": 0, "outcome": "applied"}});
    run(contract, &[json!([backward(0, "a", 4, 1.0, 0.25, json!({})), step])])
}

/// Means weighted by rows, a sketched basis, and a replay that is asked for and not done.
fn sketched() -> Value {
    let contract = json!({"formula": "row-weighted/1", "accumulation_steps": 2,
        "gradient_basis": {"kind": "sketch", "dimension": 1, "seed": 5}});
    let with = |rows: u64, gradient: f64| json!({"rows": rows, "gradient_sum": [gradient]});
    let mut run = run(
        contract,
        &[json!([
            backward(0, "a", 4, 2.0, 0.125, with(1, 4.0)),
            backward(0, "b", 2, 4.0, 1.5, with(3, 8.0)),
            {"optimizer_step": {"window": 0, "outcome": "applied"}}
        ])],
    );
    run["replay"] = json!({"seed": 39, "blocks": 3, "width": 4, "heads": 1, "feed_forward": 8, "context": 8,
        "vocabulary": 266, "dropout": 0.0, "recompute": "none"});
    run
}

/// Two ranks that all-reduce in every backward, as declared.
fn synchronous() -> Value {
    let contract = json!({"formula": "token-mean/1", "accumulation_steps": 2, "gradient_reduction": "mean",
        "synchronize": "each"});
    let rank = |r: u64| {
        let sync = json!({"sync": true});
        json!([
            backward(0, &format!("r{r}-a"), 3, 2.0, 0.5, sync.clone()),
            backward(0, &format!("r{r}-b"), 1, 1.0, 0.25, sync),
            {"optimizer_step": {"window": 0, "outcome": "applied"}}
        ])
    };
    run(contract, &[rank(0), rank(1)])
}

/// The fully witnessed run, but its last window is carried.
pub(super) fn carrying() -> Value {
    let mut manifest = document("worked/fully-witnessed.json");
    manifest["contract"]["tail"] = json!("carry");
    for rank in manifest["ranks"].as_array_mut().expect("ranks") {
        let events = rank["events"].as_array_mut().expect("events");
        let last = events.iter().rposition(|event| event.get("backward").is_some()).expect("a backward");
        events.truncate(last + 1);
        let of = |field: &str| events[last]["backward"][field].clone();
        let carry = json!({"window": of("window"), "microbatches": [of("microbatch")],
            "valid_targets": of("valid_targets"), "loss_sum": of("loss_sum"), "gradient_sum": of("gradient_sum"),
            "backwards": 1, "next_microbatch": "next", "random_state": "philox:1"});
        events.push(json!({ "carry": carry }));
        // In the whole window this is not yet the last.
        for field in ["sync", "forward_sync"] {
            events[last]["backward"][field] = json!(false);
        }
        let backward = events[last]["backward"].as_object_mut().expect("a backward");
        backward.remove("accumulated");
        backward.remove("backward_loss");
    }
    manifest
}

/// What the run above goes on with, and the receipt that it resumes.
pub(super) fn resuming() -> (Value, Sealed) {
    let previous = runs::verify_value(&carrying()).sealed;
    let receipt: Value = serde_json::from_slice(previous.bytes()).expect("JSON");
    let mut resume = receipt["carried"].clone();
    resume["previous_receipt"] = receipt["receipt_sha256"].clone();
    let field = |of: &Value, field: &str| of["microbatches"][0][field].clone();
    let ranks = resume["ranks"].as_array().expect("ranks").clone();
    let sum = |name: &str| ranks.iter().map(|rank| field(rank, name).as_f64().expect("a number")).sum::<f64>();
    // Two more targets on each rank, and two more of loss.
    let (n, loss) = (sum("valid_targets") + 4.0, sum("loss_sum") + 4.0);
    let gradient: Vec<f64> = (0..2)
        .map(|at| {
            let carried = ranks.iter().map(|rank| field(rank, "gradient_sum")[at].as_f64().expect("a number"));
            (carried.sum::<f64>() + 2.0) / n
        })
        .collect();
    let norm = (gradient[0] * gradient[0] + gradient[1] * gradient[1]).sqrt();
    let rate = resume["learning_rate"].clone();
    let scale = resume["loss_scale"].clone();
    let rank = |r: u64| {
        let more = json!({"sync": true, "forward_sync": true, "loss_scale": scale, "gradient_sum": [1.0, 1.0]});
        json!([
            backward(10, &format!("w10-r{r}-m1"), 2, 2.0, 2.0 * 2.0 / n, more),
            {"unscale": {"loss_scale": scale, "nonfinite": false}},
            {"clip": {"max_norm": 1, "norm": norm}},
            {"logged": {"window": 10, "loss": loss / n, "denominator": n as u64, "gradient": gradient, "grad_norm": norm}},
            {"optimizer_step": {"window": 10, "outcome": "applied", "update": 7, "learning_rate": rate}},
            {"scaler_update": {"loss_scale": scale}},
            {"scheduler_step": {"learning_rate": 0.04}}
        ])
    };
    let mut contract = carrying()["contract"].clone();
    contract["require"] = json!([]);
    contract.as_object_mut().expect("a contract").remove("require");
    let mut manifest = run(contract, &[rank(0), rank(1)]);
    manifest["resume"] = resume;
    (manifest, previous)
}

/// All of them that stand alone.
pub(super) fn alone() -> Vec<Value> {
    vec![cosine(), staged(), dropping(), sketched(), synchronous(), followed_adamw(), followed_sgd()]
}

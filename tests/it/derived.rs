//! Fixtures that are receipts, or rest on one: written from worked runs, so that they follow the receipt's format.
//! `UPDATE=1 cargo test` rewrites them.
use crate::runs::edit::with;
use crate::runs::{self, document};
use serde_json::{Value, json};
use std::sync::Once;

/// A receipt of a worked run, as the binary writes it.
fn receipt_of(name: &str) -> String {
    let verified = runs::verify_value(&document(name));
    String::from_utf8(verified.sealed.bytes().to_vec()).expect("UTF-8")
}

/// The run that goes on where `worked/tail-carry.json` ends.
pub(crate) fn resumed() -> Value {
    let previous = runs::verify_value(&document("worked/tail-carry.json"));
    let mut resume = runs::tree(&previous)["carried"].clone();
    resume["previous_receipt"] = runs::tree(&previous)["receipt_sha256"].clone();
    let backward = |id: &str, targets: u64, sum: f64, loss: f64, gradient: f64| {
        json!({"backward": {"window": 2, "microbatch": id, "valid_targets": targets, "loss_sum": sum,
            "backward_loss": loss, "gradient_sum": [gradient]}})
    };
    json!({
        "schema": "accumulation/rank-manifest/1",
        "contract": document("worked/tail-carry.json")["contract"],
        "resume": resume,
        "ranks": [{"rank": 0, "events": [
            backward("m7", 8, 6.0, 0.3, 0.5),
            backward("m8", 5, 2.9, 0.145, -0.2),
            {"logged": {"window": 2, "loss": 0.9, "denominator": 20, "gradient": [0.07], "grad_norm": 0.07}},
            {"optimizer_step": {"window": 2, "outcome": "applied", "update": 2}}
        ]}]
    })
}

/// A manifest as a person would lay it out: one event a line.
fn pretty(manifest: &Value) -> String {
    let text = serde_json::to_string_pretty(manifest).expect("JSON");
    text + "\n"
}

fn files() -> Vec<(&'static str, String)> {
    let receipt = receipt_of("worked/three-six-one.json");
    let changed = receipt.replacen(r#""valid_targets":10"#, r#""valid_targets":11"#, 1);
    let manifest = document("worked/three-six-one.json");
    let renamed = with(&manifest, "/ranks/0/events/0/backward/microbatch", json!("w0-m9"));
    let newer = receipt.replacen("accumulation/receipt/1", "accumulation/receipt/2", 1);
    vec![
        ("GA801-receipt-hash/good.receipt.json", receipt.clone()),
        ("GA801-receipt-hash/bad.receipt.json", changed),
        ("GA801-receipt-hash/bad-white-space.receipt.json", receipt.replacen(':', ": ", 1)),
        ("GA802-receipt-differs/good/receipt.json", receipt.clone()),
        ("GA802-receipt-differs/good/manifest.json", pretty(&manifest)),
        ("GA802-receipt-differs/bad/receipt.json", receipt.clone()),
        ("GA802-receipt-differs/bad/manifest.json", pretty(&renamed)),
        ("GA803-receipt-unsupported/good.receipt.json", receipt),
        ("GA803-receipt-unsupported/bad.receipt.json", newer),
    ]
}

/// Writes them, once, where that was asked for: whoever reads them under `UPDATE=1` calls this first.
pub(crate) fn refresh() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (name, text) in files().into_iter().filter(|_| runs::is_update()) {
            let path = runs::fixture("rules").join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            runs::assert_fresh(&path, &text);
        }
    });
}

#[test]
fn receipts_among_the_fixtures_are_fresh() {
    refresh();
    for (name, text) in files() {
        runs::assert_fresh(&runs::fixture("rules").join(name), &text);
    }
}

//! The examples worked by hand in `docs/method.md`, to the last bit.
use crate::runs::{self, binary};
use receipt::finding::Code;
use receipt::pipeline::Verified;
use receipt::receipt::document::WindowReport;
use serde_json::{Value, json};

fn verify(name: &str) -> Verified {
    runs::verify_files(&[runs::fixture(&format!("worked/{name}.json"))])
}

fn windows(verified: &Verified) -> &[WindowReport] {
    runs::receipt(verified).windows.as_deref().expect("windows")
}

/// A field of the receipt, by JSON Pointer.
fn at(verified: &Verified, pointer: &str) -> Value {
    runs::tree(verified).pointer(pointer).unwrap_or_else(|| panic!("nothing at {pointer}")).clone()
}

fn recipes(verified: &Verified) -> Vec<String> {
    runs::receipt(verified).diagnosis.as_ref().expect("a diagnosis").recipes.clone()
}

#[test]
fn three_six_one() {
    let verified = verify("three-six-one");
    assert_eq!((runs::exit(&verified), runs::codes(&verified)), (0, vec![]));
    assert_eq!(at(&verified, "/windows/0/valid_targets"), json!(10));
    assert_eq!(at(&verified, "/windows/0/loss"), json!(0.64));
    assert_eq!(at(&verified, "/windows/0/gradient"), json!([0.1]));
    assert_eq!(at(&verified, "/windows/0/full_batch"), json!({"loss": 0.64, "gradient": [0.1]}));
    assert_eq!(at(&verified, "/windows/0/accumulated"), json!({"loss": 0.64, "gradient": [0.1]}));
    assert_eq!(at(&verified, "/windows/0/mean_of_means/loss"), json!(0.533_333_333_333_333_3));
    // The recorded numbers are not the fractions themselves, so the last digits of these depend on what is rounded when.
    for (pointer, exact) in [("gradient/0", 1.0 / 6.0), ("absolute_drift", 8.0 / 75.0), ("relative_drift", 1.0 / 6.0)] {
        let found = at(&verified, &format!("/windows/0/mean_of_means/{pointer}")).as_f64().expect("a number");
        assert!((found - exact).abs() <= 4.0 * f64::EPSILON * exact, "{pointer}: {found}");
    }
    for microbatch in 0..3 {
        assert_eq!(at(&verified, &format!("/microbatches/{microbatch}/weight_declared")), json!(0.1));
    }
    assert_eq!(recipes(&verified), ["token-mean"]);
    assert_eq!(at(&verified, "/diagnosis/control"), json!(false));
    assert_eq!(at(&verified, "/counterexample/window"), json!(0));
    assert_eq!(at(&verified, "/counterexample/loss"), json!(0.64));
    assert_eq!(at(&verified, "/counterexample/mean_of_means"), json!(0.533_333_333_333_333_3));
}

#[test]
fn a_run_that_logs_the_mean_of_means() {
    let verified = verify("three-six-one-logs-mean-of-means");
    assert_eq!((runs::exit(&verified), runs::codes(&verified)), (1, vec![Code::GA201]));
    assert_eq!(recipes(&verified)[0], "mean-of-means");
    let finding = &runs::receipt(&verified).findings[0];
    assert_eq!(finding.place.field.as_deref(), Some("/logged/loss"));
    assert_eq!((finding.place.rank, finding.place.event, finding.place.window), (Some(0), Some(3), Some(0)));
    assert_eq!(at(&verified, "/windows/0/logged/0/loss/explanation"), json!("different-objective"));
    assert_eq!(at(&verified, "/windows/0/agrees"), json!(false));
    // Nothing says what the gradient followed.
    assert_eq!(at(&verified, "/evidence/weights"), json!("none"));
    assert_eq!(at(&verified, "/windows/0/accumulated/loss"), Value::Null);
}

#[test]
fn a_run_that_followed_the_mean_of_means() {
    let verified = verify("three-six-one-mean-of-means");
    assert_eq!(runs::exit(&verified), 1);
    assert_eq!(runs::codes(&verified)[0], Code::GA203, "the cause stands first");
    let followers = runs::receipt(&verified).findings[1..].iter();
    assert!(followers.into_iter().all(|finding| finding.caused_by == Some(Code::GA203)));
    assert_eq!(recipes(&verified)[0], "mean-of-means");
    assert_eq!(at(&verified, "/windows/0/accumulated/loss"), json!(0.533_333_333_333_333_3));
    assert_eq!(at(&verified, "/windows/0/deltas/weights_off"), json!(3));
}

#[test]
fn equal_counts_are_a_control() {
    let verified = verify("equal-sizes-control");
    assert_eq!((runs::exit(&verified), runs::codes(&verified)), (0, vec![]));
    assert_eq!(at(&verified, "/diagnosis/control"), json!(true));
    assert_eq!(recipes(&verified), ["token-mean"]);
    assert_eq!(at(&verified, "/windows/0/loss"), json!(0.533_333_333_333_333_3));
    assert_eq!(at(&verified, "/windows/0/mean_of_means/loss"), json!(0.533_333_333_333_333_3));
    assert_eq!(at(&verified, "/windows/0/mean_of_means/absolute_drift"), json!(0));
    // The run shows no drift, so the receipt brings the frozen window.
    assert_eq!(at(&verified, "/counterexample/window"), Value::Null);
    assert_eq!(at(&verified, "/counterexample/valid_targets"), json!([3, 6, 1]));
    assert_eq!(at(&verified, "/counterexample/loss_sums"), json!([1.2, 4.8, 0.4]));
    assert_eq!(at(&verified, "/counterexample/loss"), json!(0.64));
    assert_eq!(at(&verified, "/counterexample/mean_of_means"), json!(0.533_333_333_333_333_3));
}

#[test]
fn a_control_by_rows_brings_the_frozen_window_too() {
    // Rows in proportion to targets: weighting by rows records the same numbers, and a mean of means would not.
    let mut manifest = runs::document("worked/two-and-four.json");
    for (event, rows) in [(0, 1), (1, 2)] {
        manifest["ranks"][0]["events"][event]["backward"]["rows"] = json!(rows);
    }
    let verified = runs::verify_value(&manifest);
    assert_eq!(at(&verified, "/diagnosis/control"), json!(true));
    assert_eq!(at(&verified, "/windows/0/mean_of_means/loss"), json!(2));
    assert_eq!(at(&verified, "/counterexample/valid_targets"), json!([3, 6, 1]));
}

#[test]
fn two_and_four_targets() {
    let verified = verify("two-and-four");
    assert_eq!((runs::exit(&verified), runs::codes(&verified)), (0, vec![]));
    assert_eq!(at(&verified, "/windows/0/loss"), json!(7.0 / 3.0));
    assert_eq!(at(&verified, "/windows/0/mean_of_means/loss"), json!(2));
}

#[test]
fn seven_microbatches_flushed() {
    let verified = verify("tail-flush");
    assert_eq!((runs::exit(&verified), runs::codes(&verified)), (0, vec![]));
    let sizes: Vec<_> = windows(&verified).iter().map(|w| (w.microbatches.get(), w.valid_targets.get())).collect();
    assert_eq!(sizes, [(3, 10), (3, 11), (1, 7)], "the last has its own denominator");
    assert_eq!(at(&verified, "/windows/2/loss"), json!(1.3));
    assert_eq!(at(&verified, "/windows/2/gradient"), json!([1.1 / 7.0]));
    assert_eq!(at(&verified, "/windows/2/tail"), json!("flush"));
    assert_eq!(at(&verified, "/windows/1/tail"), Value::Null);
    assert_eq!(at(&verified, "/totals/valid_targets"), json!(28));
    assert_eq!(at(&verified, "/totals/updates_applied"), json!(3));
}

#[test]
fn seven_microbatches_carried() {
    let verified = verify("tail-carry");
    assert_eq!((runs::exit(&verified), runs::codes(&verified)), (0, vec![]));
    assert_eq!(at(&verified, "/windows/2/tail"), json!("carry"));
    assert_eq!(at(&verified, "/windows/2/outcome"), Value::Null);
    assert_eq!(at(&verified, "/totals/valid_targets"), json!(21), "what is carried out is not counted");
    assert_eq!(at(&verified, "/totals/windows"), json!(2));
    let carried = json!({"window": 2, "applied_updates": 2, "ranks": [{"rank": 0, "microbatches":
        [{"microbatch": "m6", "valid_targets": 7, "loss_sum": 9.1, "gradient_sum": [1.1]}]}]});
    assert_eq!(at(&verified, "/carried"), carried);
}

#[test]
fn seven_microbatches_the_last_dropped() {
    let verified = verify("tail-drop");
    assert_eq!((runs::exit(&verified), runs::codes(&verified)), (0, vec![]));
    assert_eq!(at(&verified, "/windows/2/tail"), json!("drop"));
    assert_eq!(at(&verified, "/totals/valid_targets"), json!(21));
    assert_eq!(at(&verified, "/totals/updates_applied"), json!(2));
    assert_eq!(at(&verified, "/carried"), Value::Null);
}

#[test]
fn two_ranks() {
    let verified = verify("two-ranks");
    assert_eq!((runs::exit(&verified), runs::codes(&verified)), (0, vec![]));
    assert_eq!(at(&verified, "/windows/0/loss"), json!(0.77));
    assert_eq!(at(&verified, "/windows/0/gradient"), json!([0.15]));
    assert_eq!(at(&verified, "/windows/0/valid_targets"), json!(20));
    // With a mean over ranks each weight is W/N.
    assert_eq!(at(&verified, "/microbatches/0/weight_declared"), json!(0.1));
    let order: Vec<String> = at(&verified, "/microbatches")
        .as_array()
        .expect("microbatches")
        .iter()
        .map(|microbatch| format!("{} {} {}", microbatch["window"], microbatch["rank"], microbatch["backward_index"]))
        .collect();
    assert_eq!(order, ["0 0 0", "0 0 1", "0 1 0", "0 1 1", "1 0 0", "1 0 1", "1 1 0", "1 1 1"]);
}

#[test]
fn two_ranks_that_disagree_on_the_tail() {
    let verified = verify("two-ranks-tail-disagreement");
    assert_eq!((runs::exit(&verified), runs::codes(&verified)), (3, vec![Code::GA114]));
    let tree = runs::tree(&verified);
    for nothing in ["totals", "evidence", "windows", "microbatches", "carried", "counterexample", "diagnosis"] {
        assert_eq!(tree[nothing], Value::Null, "{nothing} of a rejected manifest");
    }
    assert_eq!(tree["eligible"], json!(false));
    assert_eq!(tree["input"]["sha256"], Value::Null);
}

#[test]
fn the_binary_says_the_same() {
    for (name, code, said) in [
        ("three-six-one", 0, "token-mean"),
        ("three-six-one-logs-mean-of-means", 1, "GA201"),
        ("two-ranks-tail-disagreement", 3, "GA114"),
    ] {
        let path = runs::fixture(&format!("worked/{name}.json"));
        let ran = binary::verify(&path);
        assert_eq!(ran.code, code, "{name}");
        assert!(ran.out.contains(said), "{name}: {}", ran.out);
        let json = binary::run(["verify".as_ref(), "--format".as_ref(), "json".as_ref(), path.as_os_str()]);
        assert_eq!(json.code, code, "{name}");
        assert_eq!(json.out.as_bytes(), [verify(name).sealed.bytes(), b"\n"].concat(), "{name}");
    }
}

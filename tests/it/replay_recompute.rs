//! The replay with recompute and dropout: the same receipt but for what says so, and the four answers about memory.

use receipt::manifest::source::Memory;
use receipt::pipeline::{ReplayPlan, VerifyOptions};
use serde_json::{Value, json};

use crate::reader::run::path;
use crate::runs::binary::{Ran, run};
use crate::runs::{document, tree, verify_with};

/// The receipt's `replay` of a worked run with these options.
fn replayed(manifest: &str, options: Value) -> Value {
    let mut manifest = document(manifest);
    manifest["replay"] = options;
    let sources = Memory::new().with("m", manifest.to_string().as_bytes());
    let replay = Some(ReplayPlan { threads: 1, ..ReplayPlan::default() });
    tree(&verify_with(&sources, &[path("m")], &VerifyOptions { replay, ..VerifyOptions::default() }))["replay"].take()
}

/// Without what says how it was computed.
fn numbers(mut replay: Value) -> Value {
    replay["model"]["recompute"].take();
    replay.as_object_mut().expect("an object").remove("recomputation");
    replay
}

#[test]
fn recompute_changes_no_number_of_a_replay() {
    for dropout in [0.0, 0.5] {
        let with = |recompute: Value| {
            replayed("worked/three-six-one.json", json!({"dropout": dropout, "recompute": recompute}))
        };
        let none = with(json!("none"));
        assert_eq!(none["agrees"], true, "dropout {dropout}: {none}");
        assert_eq!(none.get("recomputation"), None);
        for (plan, nodes, runs) in [
            (json!("blocks"), 3, 3),
            (json!({"every": 2}), 2, 3),
            (json!({"snapshots": 2}), 2, 2),
            (json!({"snapshots": 1}), 1, 3),
        ] {
            let recomputed = with(plan.clone());
            assert_eq!(numbers(recomputed.clone()), numbers(none.clone()), "{plan}, dropout {dropout}");
            let said = &recomputed["recomputation"];
            assert_eq!(said["identical"], true, "{plan}");
            assert_eq!(said["recompute_nodes"], nodes, "{plan}");
            assert_eq!(said["extra_block_runs"], runs, "{plan}");
            let bytes = |field: &str| said[field].as_u64().expect("a count");
            assert!(bytes("retained_bytes") < bytes("retained_bytes_recorded"), "{plan}");
            for question in ["retained", "replayed", "deterministic", "kind"] {
                assert!(said[question].as_str().is_some_and(|answer| answer.len() > 40), "{question}: {said}");
            }
        }
    }
}

/// `receipt replay --recompute` says what the manifest's own field would, and answers the four questions.
#[test]
fn the_command_line_recomputes() {
    let file = "fixtures/worked/three-six-one.json";
    let plain = run(["replay", file, "--format", "json"]);
    let parsed = |ran: &Ran| -> Value { serde_json::from_str(&ran.out).expect("JSON") };
    for plan in ["blocks", "every=2", "snapshots=1"] {
        let ran = run(["replay", file, "--recompute", plan, "--format", "json"]);
        assert_eq!((ran.code, numbers(parsed(&ran))), (plain.code, numbers(parsed(&plain))), "{plan}");
        assert_eq!(parsed(&ran)["recomputation"]["identical"], true);
    }
    let text = run(["replay", file, "--recompute", "blocks"]);
    assert_eq!(text.code, 0);
    for said in [
        "34 numbers",
        "102 numbers",
        "retained",
        "replayed",
        "deterministic",
        "kind of figure",
        "neither peak nor total",
    ] {
        assert_eq!(text.out.contains(said), said != "34 numbers", "{said}: {}", text.out);
    }
    assert!(!run(["replay", file]).out.contains("kind of figure"), "nothing is said of what is not done");
    for wrong in ["every=0", "all", "snapshots="] {
        assert_eq!(run(["replay", file, "--recompute", wrong]).code, 2, "{wrong}");
    }
}

#[test]
fn dropout_is_in_the_numbers_and_its_repartition_is_a_counterexample() {
    let drift = |replay: &Value, recipe: &str| {
        let runs = replay["counterexamples"].as_array().expect("a list").iter();
        runs.filter(|run| run["recipe"] == recipe).map(|run| run["gradient"].as_f64().expect("a drift")).next()
    };
    let without = replayed("worked/three-six-one.json", json!({}));
    let with = replayed("worked/three-six-one.json", json!({"dropout": 0.5}));
    assert_eq!(drift(&without, "repartitioned-dropout"), None);
    assert!(drift(&with, "repartitioned-dropout").is_some_and(|drift| drift > 1e-2), "{with}");
    assert_ne!(drift(&without, "mean-of-means"), drift(&with, "mean-of-means"));
}

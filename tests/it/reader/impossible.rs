//! Contracts of the right shape that can't be meant, each at its pointer.
use crate::reader::run::HEADER;
use crate::reader::run::drain_from;
use crate::reader::run::path;
use crate::reader::run::shown;
use receipt::manifest::source::Memory;
use serde_json::Value;
use serde_json::json;

/// Codes and pointers of what is wrong with a contract that has these fields.
fn faults(fields: Value) -> Vec<String> {
    let mut header: Value = serde_json::from_str(HEADER).expect("a header");
    let contract = header["contract"].as_object_mut().expect("a contract");
    contract.extend(fields.as_object().expect("fields").clone());
    let sources = Memory::new().with("m", header.to_string());
    let drained = drain_from(&sources, &[path("m")], false);
    let is_impossible =
        drained.faults.iter().any(|told| told.code.as_str() == "GA118" || told.code.as_str() == "GA115");
    assert_eq!(drained.opened.contract.is_none(), is_impossible);
    shown(&sources, &drained)
        .iter()
        .map(|said| said.split(' ').nth(2).expect("a pointer").trim_end_matches(':').to_owned())
        .collect()
}

fn refused(fields: Value, pointers: &[&str]) {
    let pointers: Vec<String> = pointers.iter().map(|pointer| format!("/contract{pointer}")).collect();
    let mut found = faults(fields.clone());
    found.sort();
    assert_eq!(found, pointers, "{fields}");
}

#[test]
fn counts_and_tolerances() {
    refused(json!({}), &[]);
    refused(json!({"accumulation_steps": 0}), &["/accumulation_steps"]);
    refused(json!({"world_size": 0}), &["/world_size"]);
    refused(json!({"tolerance": {"absolute": -1, "relative": -1e-9}}), &["/tolerance/absolute", "/tolerance/relative"]);
    refused(json!({"gradient_basis": {"kind": "complete", "dimension": 0}}), &["/gradient_basis/dimension"]);
    refused(json!({"clip": {"max_norm": 0}}), &["/clip/max_norm"]);
}

#[test]
fn a_reduction_is_needed_for_more_than_one_rank() {
    let two = json!({"world_size": 2});
    assert!(faults(two).contains(&"/contract".to_owned()));
    assert!(!faults(json!({"world_size": 2, "gradient_reduction": "sum"})).contains(&"/contract".to_owned()));
}

#[test]
fn stages() {
    let stages = |stages: Value| json!({"accumulation_steps": stages});
    let stage = |from: u64, steps: u64| json!({"from_window": from, "steps": steps});
    refused(stages(json!([stage(0, 2), stage(5, 4)])), &[]);
    refused(stages(json!([])), &["/accumulation_steps"]);
    refused(stages(json!([stage(1, 2)])), &["/accumulation_steps/0/from_window"]);
    refused(
        stages(json!([stage(0, 2), stage(0, 0)])),
        &["/accumulation_steps/1/from_window", "/accumulation_steps/1/steps"],
    );
}

#[test]
fn loss_scales() {
    let dynamic = |changes: Value| {
        let mut scale =
            json!({"policy": "dynamic", "initial": 8, "growth_factor": 2, "backoff_factor": 0.5, "growth_interval": 1});
        scale.as_object_mut().expect("fields").extend(changes.as_object().expect("fields").clone());
        json!({"loss_scale": scale})
    };
    refused(dynamic(json!({"minimum": 8, "maximum": 8, "growth_delay": 0})), &[]);
    refused(json!({"loss_scale": {"policy": "static", "value": 0}}), &["/loss_scale/value"]);
    refused(dynamic(json!({"initial": -1})), &["/loss_scale/initial"]);
    refused(dynamic(json!({"growth_factor": 1})), &["/loss_scale/growth_factor"]);
    refused(dynamic(json!({"backoff_factor": 1})), &["/loss_scale/backoff_factor"]);
    refused(dynamic(json!({"backoff_factor": 0})), &["/loss_scale/backoff_factor"]);
    refused(
        dynamic(json!({"growth_interval": 0, "hysteresis": 0})),
        &["/loss_scale/growth_interval", "/loss_scale/hysteresis"],
    );
    refused(dynamic(json!({"minimum": 9})), &["/loss_scale/minimum"]);
    refused(dynamic(json!({"minimum": 0})), &["/loss_scale/minimum"]);
    refused(dynamic(json!({"maximum": 7})), &["/loss_scale/maximum"]);
    // Above its maximum, a minimum is above or below the initial scale as well.
    refused(dynamic(json!({"minimum": 9, "maximum": 7})), &["/loss_scale/maximum", "/loss_scale/minimum"]);
}

#[test]
fn optimizers() {
    let adamw = |changes: Value| {
        let mut all =
            json!({"name": "adamw", "learning_rate": 0.1, "beta1": 0.9, "beta2": 0, "epsilon": 0, "weight_decay": 0});
        all.as_object_mut().expect("fields").extend(changes.as_object().expect("fields").clone());
        json!({"optimizer": all})
    };
    refused(adamw(json!({})), &[]);
    refused(adamw(json!({"beta1": 1, "beta2": -0.1})), &["/optimizer/beta1", "/optimizer/beta2"]);
    refused(
        adamw(json!({"epsilon": -1, "weight_decay": -1, "learning_rate": -1})),
        &["/optimizer/epsilon", "/optimizer/learning_rate", "/optimizer/weight_decay"],
    );
    refused(
        json!({"optimizer": {"name": "sgd", "learning_rate": 0, "momentum": -1, "weight_decay": 0}}),
        &["/optimizer/momentum"],
    );
}

#[test]
fn schedules() {
    let cosine = |warmup: u64, total: u64, peak: f64, floor: f64, ticks: u64| json!({"scheduler": {"name": "cosine", "peak": peak, "warmup_steps": warmup, "total_steps": total, "floor": floor, "ticks": ticks}});
    refused(cosine(1, 1, 0.1, 0.1, 1), &[]);
    refused(cosine(2, 1, 0.1, 0.0, 1), &["/scheduler/warmup_steps"]);
    refused(cosine(0, 0, 0.1, 0.0, 1), &["/scheduler/total_steps"]);
    refused(cosine(0, 1, 0.1, 0.2, 0), &["/scheduler/floor", "/scheduler/ticks"]);
    refused(json!({"scheduler": {"name": "constant", "peak": -1}}), &["/scheduler/peak"]);
    refused(json!({"scheduler": {"name": "recorded"}}), &[]);
}

#[test]
fn replay_and_resume() {
    let contract: Value = serde_json::from_str::<Value>(HEADER).expect("a header")["contract"].clone();
    let said = |replay: Value, resume: Value| {
        let mut document = json!({
            "schema": "accumulation/rank-manifest/1", "contract": contract, "replay": replay,
            "ranks": [{"rank": 0, "events": []}],
        });
        if !resume.is_null() {
            document["resume"] = resume;
        }
        let sources = Memory::new().with("m", document.to_string());
        let mut found: Vec<String> = drain_from(&sources, &[path("m")], false)
            .faults
            .into_iter()
            .map(|told| format!("{} {}", told.code, told.place.field.unwrap_or_default()))
            .collect();
        found.sort();
        found
    };
    assert_eq!(said(json!({}), json!(null)), [] as [&str; 0]);
    assert_eq!(
        said(
            json!({"vocabulary": 258, "width": 12, "heads": 3, "dropout": 0.5, "recompute": {"every": 1}}),
            json!(null)
        ),
        [] as [&str; 0]
    );
    assert_eq!(
        said(
            json!({"vocabulary": 257, "width": 3, "dropout": 1, "recompute": {"snapshots": 0}, "heads": 1, "blocks": 0}),
            json!(null)
        ),
        [
            "GA118 /replay/blocks",
            "GA118 /replay/dropout",
            "GA118 /replay/recompute/snapshots",
            "GA118 /replay/vocabulary",
            "GA118 /replay/width",
        ]
    );
    assert_eq!(said(json!({"heads": 0}), json!(null)), ["GA118 /replay/heads"]);
    let rank = |rank: u64, vector: Value| json!({"rank": rank, "microbatches": [{"microbatch": "a", "valid_targets": 1, "loss_sum": 1, "gradient_sum": vector}]});
    let resume = json!({"previous_receipt": "0".repeat(64), "window": 1, "applied_updates": 1, "ranks": [rank(0, json!([1])), rank(0, json!([])), rank(1, json!([]))]});
    assert_eq!(
        said(json!({}), resume),
        [
            "GA109 /resume/ranks/0/microbatches/0/gradient_sum",
            "GA109 /resume/ranks/1/microbatches/0/gradient_sum",
            "GA109 /resume/ranks/2/microbatches/0/gradient_sum",
            "GA110 /resume/ranks/1/rank",
            "GA110 /resume/ranks/2/rank",
        ]
    );
}

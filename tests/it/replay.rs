//! Replays of whole runs: what is executed, what is judged, and that nothing but the manifest decides its bytes.
use crate::runs::{self, binary};
use receipt::canonical::Count;
use receipt::finding::{Code, Severity};
use receipt::manifest::source::{Memory, SourceName};
use receipt::numeric::rounding::Arithmetic;
use receipt::pipeline::{ReplayPlan, Verified, VerifyOptions};
use receipt::replay::Recipe;
use receipt::replay::report::{ReplayReport, ReplayedWindow};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

fn replay(verified: &Verified) -> &ReplayReport {
    runs::receipt(verified).replay.as_ref().expect("a replay")
}

fn windows(verified: &Verified) -> &[ReplayedWindow] {
    replay(verified).windows.as_deref().expect("windows")
}

fn recorded(name: &str) -> Verified {
    let path = runs::fixture("recorded").join(name);
    runs::verify_files(&[if path.is_dir() { path.join("rank-manifest.json") } else { path }])
}

fn with_plan(manifest: &Value, plan: ReplayPlan) -> Verified {
    let sources = Memory::new().with("m", manifest.to_string().as_bytes());
    let options = VerifyOptions { replay: Some(plan), ..VerifyOptions::default() };
    runs::verify_with(&sources, &[SourceName::Path("m".into())], &options)
}

fn executed(manifest: &Value) -> Verified {
    with_plan(manifest, ReplayPlan::default())
}

/// How far the gradient of the worst window is off.
fn worst(verified: &Verified) -> f64 {
    let worst = replay(verified).worst.as_ref().expect("a window with a gradient");
    worst.gradient.as_ref().and_then(|gradient| gradient.relative).expect("a reference that is not 0").get()
}

/// A run whose windows have microbatches of these targets by rank, under a contract that says `with` differently.
fn run(with: Value, windows: &[&[&[u64]]]) -> Value {
    let ranks = windows[0].len();
    let mut contract = json!({
        "formula": "token-mean/1", "accumulation_steps": windows[0][0].len(), "world_size": ranks, "tail": "flush",
        "tolerance": {"absolute": 1e-12, "relative": 1e-9}, "precision": "float64",
    });
    if ranks > 1 {
        contract["gradient_reduction"] = json!("mean");
    }
    contract.as_object_mut().expect("an object").extend(with.as_object().expect("an object").clone());
    let events = |rank: usize| {
        let mut events = vec![];
        for (window, counts) in windows.iter().enumerate() {
            let n: u64 = counts.iter().copied().flatten().sum();
            for (at, own) in counts[rank].iter().enumerate() {
                let mut backward = json!({
                    "window": window, "microbatch": format!("w{window}-r{rank}-m{at}"), "valid_targets": own,
                    "loss_sum": own, "backward_loss": (*own * ranks as u64) as f64 / n as f64,
                });
                if ranks > 1 {
                    backward["sync"] = json!(at + 1 == counts[rank].len());
                }
                events.push(json!({ "backward": backward }));
            }
            events.push(json!({"optimizer_step": {"window": window, "outcome": "applied"}}));
            events.push(json!("zero_grad"));
        }
        events
    };
    let ranks: Vec<Value> = (0..ranks).map(|rank| json!({"rank": rank, "events": events(rank)})).collect();
    json!({"schema": "accumulation/rank-manifest/1", "contract": contract, "ranks": ranks})
}

#[test]
fn correct_recordings_make_the_full_batchs_update() {
    for name in [
        "ddp_all_sync_f32",
        "ddp_nosync_right_f32",
        "ddp_nosync_right_f64",
        "ddp_rank_skip_overflow_f32",
        "hf524_llama_f32.jsonl",
        "plain_amp_correct_f32.jsonl",
        "plain_amp_f16_natural_mixed.jsonl",
        "plain_bf16_pure_mixed.jsonl",
        "plain_correct_f32.jsonl",
        "plain_correct_f64.jsonl",
        // Nothing is wrong with these gradients either.
        "accel1150_docs_corrected_ddp2",
        "plain_sched_per_micro_f32.jsonl",
        "plain_tail_dropped_f32.jsonl",
    ] {
        let verified = recorded(name);
        assert!(replay(&verified).agrees, "{name}");
        assert_eq!(replay(&verified).windows_judged, replay(&verified).windows_eligible, "{name}");
        assert!(!runs::codes(&verified).contains(&Code::GA701), "{name}");
    }
}

#[test]
fn faults_that_change_the_update_show_a_drift_and_name_their_cause() {
    for (name, cause, least) in [
        ("plain_clip_per_micro_f32.jsonl", Code::GA506, 0.5),
        ("plain_zero_mid_f32.jsonl", Code::GA303, 0.5),
        ("plain_zero_forgotten_f32.jsonl", Code::GA304, 0.5),
        ("plain_amp_unscale_early_f32.jsonl", Code::GA501, 500.0),
        ("ddp_never_sync_f32", Code::GA401, 1.0),
        ("ddp_local_count_f32", Code::GA203, 0.5),
        ("ddp_missing_W_f32", Code::GA203, 0.49),
        ("ddp_rank_mean_of_means_f32", Code::GA203, 0.5),
        ("plain_tail_div_K_f32.jsonl", Code::GA203, 0.5),
        ("plain_mean_of_means_f64.jsonl", Code::GA203, 0.4),
        ("hf445_llama_f32.jsonl", Code::GA203, 0.5),
        ("hf446_gpt2_f32.jsonl", Code::GA203, 2.0),
        ("plain_step_per_micro_f32.jsonl", Code::GA310, 0.5),
    ] {
        let verified = recorded(name);
        let findings = &runs::receipt(&verified).findings;
        let own = findings.iter().find(|finding| finding.code == Code::GA701).expect("GA701 fires");
        assert_eq!((own.caused_by, own.severity), (Some(cause), Severity::Error), "{name}");
        assert!(worst(&verified) > least, "{name}: {}", worst(&verified));
        assert!(own.place.event.is_some(), "{name}: it has a line");
        let furthest = replay(&verified).worst.as_ref().map(|worst| worst.window.get());
        assert_eq!(own.place.window, furthest, "{name}: the finding and the replay name one window");
    }
}

/// The drift of a mean of means follows from two gradients; `docs/method.md`, "Numbers to redo", has a program in NumPy
/// that makes them.
#[test]
fn the_worked_number_of_the_method() {
    let mut manifest = run(json!({}), &[&[&[3, 1]]]);
    manifest["replay"] = worked_model();
    let means = windows(&executed(&manifest))[0].mean_of_means.expect("means");
    let drift = means.gradient.expect("a drift").get();
    let text = std::fs::read_to_string("docs/method.md").expect("docs/method.md");
    let shown = format!("{drift:.6}");
    assert!(text.contains(&format!("prints `{shown}`")), "docs/method.md does not say {shown}");
}

/// `docs/method.md`, "Numbers to redo": a third of the gradient, and ten times it.
#[test]
fn the_numbers_of_the_method_that_need_no_program() {
    let verified = runs::verify_files(&[runs::fixture("worked").join("three-six-one.json")]);
    for (recipe, drift) in [("divided-twice", 2.0 / 3.0), ("unnormalized", 9.0)] {
        let run = replay(&verified).counterexamples.iter().find(|run| run.recipe == recipe).expect("it was executed");
        let [gradient, cosine] =
            [run.gradient, run.cosine].map(|number| number.expect("a reference that is not 0").get());
        assert!((gradient - drift).abs() < 1e-12 && (cosine - 1.0).abs() < 1e-12, "{recipe}: {gradient}, {cosine}");
    }
}

fn worked_model() -> Value {
    json!({"seed": 39, "blocks": 1, "width": 2, "heads": 1, "feed_forward": 2, "context": 4, "vocabulary": 258})
}

#[test]
fn ranks_that_never_sync_end_apart() {
    let apart = |name| replay(&recorded(name)).cumulative.as_ref().and_then(|cumulative| cumulative.ranks_apart);
    assert!(apart("ddp_never_sync_f32").expect("two ranks").get() > 0.1);
    assert_eq!(apart("ddp_nosync_right_f32").expect("two ranks").get(), 0.0);
    assert_eq!(apart("plain_correct_f64.jsonl"), None);
}

#[test]
fn a_skipped_window_holds_everything_and_moves_the_scale() {
    for name in ["plain_amp_correct_f32.jsonl", "ddp_rank_skip_overflow_f32"] {
        let verified = recorded(name);
        let (skipped, applied): (Vec<_>, Vec<_>) =
            windows(&verified).iter().partition(|window| window.outcome.as_str() == "skipped");
        assert!(!skipped.is_empty() && !applied.is_empty());
        for window in skipped {
            assert!(window.held && window.agrees && window.steps.run == Count::ZERO, "{name}");
            assert_eq!(window.weights.l2.expect("finite").get(), 0.0, "{name}");
            assert!(window.moments.iter().all(|moment| moment.l2.expect("finite").get() == 0.0), "{name}");
            let scale = window.loss_scale.expect("a scale");
            assert_eq!(scale.run, scale.reference, "{name}");
        }
        assert!(applied.iter().all(|window| !window.held && window.steps.run == Count::from(1)), "{name}");
    }
    let scales: Vec<f64> = windows(&recorded("plain_amp_correct_f32.jsonl"))
        .iter()
        .map(|window| window.loss_scale.expect("a scale").run.get())
        .collect();
    assert!(scales.windows(2).any(|pair| pair[1] < pair[0]), "an overflow halves it: {scales:?}");
}

#[test]
fn a_scale_off_its_policy_is_no_state_of_the_reference() {
    let bad = runs::verify_files(&[runs::fixture("rules/GA505-scaler-transition/bad.json")]);
    let off: Vec<_> = windows(&bad).iter().filter(|window| !window.agrees).collect();
    assert_eq!(off.len(), 1);
    let scale = off[0].loss_scale.expect("a scale");
    assert_ne!(scale.run, scale.reference);
}

#[test]
fn equal_microbatches_are_a_control() {
    let equal = executed(&run(json!({}), &[&[&[4, 4], &[4, 4]], &[&[4, 4], &[4, 4]]]));
    assert!(replay(&equal).control);
    for window in windows(&equal) {
        let drift = window.mean_of_means.expect("means").gradient.expect("a drift").get();
        assert!(drift < 1e-14, "{drift}");
    }
    let unequal = executed(&run(json!({}), &[&[&[4, 4], &[4, 5]]]));
    assert!(!replay(&unequal).control);
    assert!(windows(&unequal)[0].mean_of_means.expect("means").gradient.expect("a drift").get() > 1e-3);
}

#[test]
fn threads_change_no_bit() {
    let manifest = run(json!({}), &[&[&[3, 6], &[1, 9]], &[&[2, 2], &[5, 4]], &[&[7, 1], &[1, 1]]]);
    let bytes = |threads| {
        let plan = ReplayPlan { threads, ..ReplayPlan::default() };
        with_plan(&manifest, plan).sealed.bytes().to_vec()
    };
    let one = bytes(1);
    assert_eq!(one, bytes(2));
    assert_eq!(one, bytes(3));
}

/// What a plan's `progress` is told, in order.
fn told(plan: ReplayPlan, manifest: &Value) -> Vec<(u64, u64)> {
    let told = Arc::new(Mutex::new(vec![]));
    let heard = Arc::clone(&told);
    let progress = Arc::new(move |done, total| heard.lock().expect("a list").push((done, total)));
    with_plan(manifest, ReplayPlan { progress, ..plan });
    let told = told.lock().expect("a list");
    told.clone()
}

#[test]
fn progress_is_at_its_end_when_the_recipes_are() {
    let manifest = run(json!({}), &[&[&[3, 6]], &[&[2, 2]]]);
    let plan = || ReplayPlan { threads: 1, ..ReplayPlan::default() };
    let recipes = plan().recipes.len() as u64;
    let heard = told(plan(), &manifest);
    let total = 13 * (1 + 1 + recipes);
    assert!(heard.iter().all(|(_, of)| *of == total) && heard.is_sorted(), "{heard:?}");
    let before_the_end = heard.iter().filter(|(done, _)| *done < total).count() as u64;
    assert!(before_the_end > 2 * recipes, "every recipe counts on both windows: {heard:?}");
    assert_eq!(heard.last(), Some(&(total, total)));
    let alone = told(ReplayPlan { recipes: vec![], ..plan() }, &manifest);
    assert_eq!(
        alone.last(),
        Some(&(26, 26)),
        "without recipes the gradients that they share are still made: {alone:?}"
    );
}

/// Gradients that are still multiplied by S overflow binary16 beyond 65504, in the run and in the full batch alike.
#[test]
fn binary16_overflows_at_a_scale_that_is_too_large() {
    let scaled = |scale: f64| {
        let policy = json!({"policy": "static", "value": scale});
        let mut manifest = run(json!({"precision": "float16", "loss_scale": policy}), &[&[&[3, 6]], &[&[5, 4]]]);
        let events = manifest["ranks"][0]["events"].as_array_mut().expect("events");
        for at in [2, 7] {
            events.insert(at, json!({"unscale": {"loss_scale": scale}}));
        }
        manifest
    };
    let overflowed = executed(&scaled(2_f64.powi(24)));
    assert!(windows(&overflowed).iter().all(|window| window.overflowed && window.held));
    assert!(replay(&overflowed).agrees, "what the decoder cannot do is no fault of the run");
    let fine = executed(&scaled(128.0));
    assert!(windows(&fine).iter().all(|window| !window.overflowed && !window.held && window.agrees));
    let wide = ReplayPlan { precision: Some(Arithmetic::Float32), ..ReplayPlan::default() };
    assert!(windows(&with_plan(&scaled(2_f64.powi(24)), wide)).iter().all(|window| !window.overflowed));
}

#[test]
fn the_floor_of_reordering_is_measured_in_every_precision() {
    let manifest = run(json!({}), &[&[&[3, 6, 2], &[1, 9, 4]], &[&[2, 2, 5], &[5, 4, 1]]]);
    for (precision, least, most) in [
        (Arithmetic::Float64, 0.0, 1e-14),
        (Arithmetic::Float32, 1e-9, 1e-6),
        (Arithmetic::Bfloat16, 1e-5, 3e-2),
        (Arithmetic::Float16, 1e-6, 3e-3),
    ] {
        let plan = ReplayPlan { precision: Some(precision), ..ReplayPlan::default() };
        let verified = with_plan(&manifest, plan);
        assert!(replay(&verified).agrees, "{precision:?}");
        for window in windows(&verified) {
            let floor = window.floor.expect("a floor").get();
            assert!(floor >= least && floor <= most, "{precision:?}: {floor}");
            let gradient = window.gradient.as_ref().and_then(|gradient| gradient.l2).expect("a gradient").get();
            assert!(gradient <= window.allowed.expect("a bound").get(), "{precision:?}");
        }
    }
}

#[test]
fn a_budget_takes_first_last_and_worst() {
    let windows_of: Vec<&[&[u64]]> = vec![&[&[4, 4]], &[&[1, 7]], &[&[4, 4]], &[&[2, 6]], &[&[4, 4]], &[&[4, 4]]];
    let manifest = run(json!({}), &windows_of);
    let taken = |targets| {
        let verified = with_plan(&manifest, ReplayPlan { targets, ..ReplayPlan::default() });
        let judged: Vec<u64> = windows(&verified).iter().map(|window| window.window.get()).collect();
        (judged, replay(&verified).not_replayed.len(), runs::receipt(&verified).limitations.clone())
    };
    assert_eq!(taken(48).0, [0, 1, 2, 3, 4, 5]);
    assert_eq!(taken(48).1, 0);
    let (judged, left, limitations) = taken(40);
    assert_eq!((judged, left), (vec![0, 1, 5], 1));
    assert!(limitations.iter().any(|text| text.contains("3 windows were not replayed")), "{limitations:?}");
    assert_eq!(taken(7).0, [0_u64; 0]);
}

#[test]
fn a_window_with_nonfinite_gradients_that_was_applied_is_not_executed() {
    let verified = recorded("hf445_llama_empty_f32.jsonl");
    let left = &replay(&verified).not_replayed;
    assert_eq!(left.len(), 1);
    assert_eq!((left[0].windows.get(), left[0].reason.as_str()), (2, "a nonfinite microbatch was applied"));
}

#[test]
fn every_recipe_drifts_on_windows_that_can_show_it() {
    let scheduler = json!({"name": "linear", "peak": 0.01, "warmup_steps": 0, "total_steps": 100});
    let scale = json!({"policy": "static", "value": 8.0});
    let with = json!({"scheduler": scheduler, "loss_scale": scale, "clip": {"max_norm": 0.5}});
    let mut manifest = run(with, &[&[&[3, 6, 2], &[1, 9, 4]], &[&[2, 2, 5], &[5, 4, 1]]]);
    for rank in 0..2 {
        let events = manifest["ranks"][rank]["events"].as_array_mut().expect("events");
        for (window, at) in [(0_u32, 3), (1, 11)] {
            let rate = 0.01 * (1.0 - f64::from(window) / 100.0);
            events[at]["optimizer_step"]["learning_rate"] = json!(rate);
            events.insert(at, json!({"clip": {"max_norm": 0.5, "norm": 1.0}}));
            events.insert(at, json!({"unscale": {"loss_scale": 8.0}}));
            let next = 0.01 * (1.0 - f64::from(window + 1) / 100.0);
            events.insert(at + 3, json!({"scheduler_step": {"learning_rate": next}}));
        }
    }
    let verified = executed(&manifest);
    assert_eq!(runs::codes(&verified), [], "{:?}", runs::receipt(&verified).findings);
    let names: Vec<&str> = replay(&verified).counterexamples.iter().map(|run| run.recipe.as_str()).collect();
    let applicable = Recipe::ALL.into_iter().map(Recipe::name).filter(|name| *name != "repartitioned-dropout");
    assert_eq!(names, applicable.collect::<Vec<_>>());
    for run in &replay(&verified).counterexamples {
        let (gradient, weights) = (run.gradient.expect("finite").get(), run.weights.expect("finite").get());
        let moves_gradient = run.recipe != "scheduler-per-microbatch";
        assert_eq!(gradient > 1e-3, moves_gradient, "{}: {gradient}", run.recipe);
        assert!(weights > 1e-9, "{}: {weights}", run.recipe);
    }
}

#[test]
fn through_the_binary() {
    let right = runs::fixture("recorded/plain_correct_f64.jsonl");
    let wrong = runs::fixture("recorded/plain_zero_mid_f32.jsonl");
    let ran = |arguments: &[&str]| binary::run(std::iter::once(&"replay").chain(arguments));
    let (right, wrong) = (right.to_str().expect("UTF-8"), wrong.to_str().expect("UTF-8"));
    assert_eq!(ran(&[right]).code, 0);
    let shown = ran(&[wrong, "--recipe", "mean-of-means"]);
    assert_eq!(shown.code, 1);
    assert!(shown.shown().contains("this run") && shown.shown().contains("mean-of-means"), "{}", shown.shown());
    assert!(!shown.shown().contains("unscale-early"));
    assert_eq!(ran(&[wrong, "--recipe", "no-such-recipe"]).code, 2);
    let json = ran(&[right, "--format", "json", "--seed", "7", "--precision", "bfloat16"]);
    let report: Value = serde_json::from_str(&json.shown()).expect("JSON");
    assert_eq!((&report["model"]["seed"], &report["precision"]), (&json!(7), &json!("bfloat16")));
    let malformed = runs::fixture("rules/GA104-duplicate-key/bad-event.json");
    assert_eq!(ran(&[malformed.to_str().expect("UTF-8")]).code, 3);
    let no_replay = binary::run(["verify", right, "--no-replay", "--format", "json"]);
    let receipt: Value = serde_json::from_str(&no_replay.shown()).expect("JSON");
    assert_eq!((&receipt["replay"], &receipt["options"]["replay"]), (&Value::Null, &json!(false)));
    assert_eq!(binary::run(["verify", right, "--no-replay", "--replay-targets", "5"]).code, 2);
}

#[test]
fn without_a_run_it_is_the_nine_target_example() {
    for (rows, microbatches) in [("1", 3), ("2", 2), ("3", 1)] {
        let ran = binary::run(["replay", "--rows-per-microbatch", rows, "--format", "json"]);
        assert_eq!(ran.code, 0, "{}", ran.shown());
        let example: Value = serde_json::from_str(&ran.out).expect("JSON");
        assert_eq!(example["accumulation"]["grids"].as_array().map(Vec::len), Some(microbatches));
        assert_eq!(example["recomputation"]["counter"], json!([288, 288]));
        assert_eq!(example["late_overflow"]["loss_scale"], json!([128.0, 64.0]));
    }
    let shown = binary::run(["replay"]);
    assert!(shown.code == 0 && shown.out.contains("85.33333333333333, 42.666666666666664"), "{}", shown.shown());
    assert_eq!(binary::run(["replay", "--rows-per-microbatch", "4"]).code, 2);
}

#[test]
fn no_alarm_where_a_loss_scale_has_no_finite_reciprocal() {
    for (scale, executed) in [(1e-100, 2), (1e-308, 0), (1e-310, 0), (5e-324, 0)] {
        let manifest = run(
            json!({"loss_scale": {"policy": "static", "value": scale}, "unobserved": ["unscale"]}),
            &[&[&[3, 6]], &[&[1, 2]]],
        );
        let verified = self::executed(&manifest);
        assert_eq!(runs::receipt(&verified).findings, [], "{scale}");
        assert_eq!(windows(&verified).len(), executed, "{scale}");
    }
}

#[test]
fn a_window_with_far_more_events_than_microbatches_is_not_held() {
    let mut manifest = run(json!({}), &[&[&[3, 6]], &[&[1, 2]]]);
    let events = manifest["ranks"][0]["events"].as_array_mut().expect("events");
    events.splice(2..2, vec![json!({"rescale": {"factor": 1}}); 60]);
    let verified = executed(&manifest);
    assert_eq!(windows(&verified).len(), 1);
    let reasons: Vec<&str> = replay(&verified).not_replayed.iter().map(|left| left.reason.as_str()).collect();
    assert_eq!(reasons, ["the window has far more events than microbatches"]);
}

//! Small runs worked by hand.
use crate::ledger::diagnosis::DiagnosisReport;
use crate::ledger::sample::Run;
use crate::ledger::sample::contract;
use serde_json::Value;
use serde_json::json;

/// The window that separates nearly all recipes, and what each logs for it (six decimals).
#[test]
fn the_separating_window_has_the_known_losses() {
    let counts = [[1, 2, 3], [10, 4, 8]];
    let losses = [[2.0, 3.0, 7.5], [12.0, 9.0, 10.0]];
    let rows = [[1, 2, 1], [3, 1, 2]];
    let diagnosed = |logged: Value| {
        let rank = |rank: usize| {
            let microbatch = |index: usize| {
                let (n, loss) = (counts[rank][index], losses[rank][index]);
                json!({"backward": {"window": 0, "microbatch": format!("r{rank}m{index}"), "valid_targets": n,
                    "loss_sum": loss, "gradient_sum": [loss], "sync": index == 2, "rows": rows[rank][index],
                    "unshifted_targets": n + rows[rank][index], "slots": n + 40}})
            };
            let mut logged = logged.clone();
            logged["window"] = json!(0);
            logged["decimals"] = json!(6);
            let step = json!({"optimizer_step": {"window": 0, "outcome": "applied"}});
            vec![microbatch(0), microbatch(1), microbatch(2), json!({"logged": logged}), step]
        };
        let declared = json!({"world_size": 2, "gradient_reduction": "mean",
                              "gradient_basis": {"kind": "coordinates", "dimension": 1}});
        Run::new(contract(declared), vec![rank(0), rank(1)]).diagnosed().recipes
    };
    for (loss, recipe) in [
        (1.553571, "token-mean"),
        (1.783333, "mean-of-means"),
        (1.746212, "rank-token-mean"),
        (1.621212, "microbatch-global-mean"),
        (1.585, "row-weighted"),
        (5.35, "sum-of-means"),
        (0.517857, "divided-twice"),
        (0.776786, "world-size-lost"),
        (1.144737, "unshifted-count"),
    ] {
        assert_eq!(diagnosed(json!({"loss": loss}))[0], recipe);
    }
    assert_eq!(diagnosed(json!({"gradient": [0.625]})), ["last-microbatch-only"]);
    assert_eq!(diagnosed(json!({"gradient": [0.5]})), ["first-microbatch-only"]);
    // Doubled buffers are no recipe; GA207 names them.
    assert_eq!(diagnosed(json!({"gradient": [3.482143]})), [""; 0]);
}

/// n, loss sum and backward loss; NaN where that was not recorded.
type Small = (u64, f64, f64);

/// Windows of one rank, each with what was logged of it.
fn small(with: Value, windows: &[(&[Small], Option<Value>)]) -> DiagnosisReport {
    let mut events = Vec::new();
    for (number, (microbatches, logged)) in windows.iter().enumerate() {
        for (index, &(n, loss, differentiated)) in microbatches.iter().enumerate() {
            let mut fields = json!({"window": number, "microbatch": format!("w{number}m{index}"), "valid_targets": n,
                                    "loss_sum": loss, "unshifted_targets": n + 1});
            if differentiated.is_finite() {
                fields["backward_loss"] = json!(differentiated);
            }
            events.push(json!({"backward": fields}));
        }
        if let Some(logged) = logged {
            let mut logged = logged.clone();
            logged["window"] = json!(number);
            events.push(json!({"logged": logged}));
        }
        events.push(json!({"optimizer_step": {"window": number, "outcome": "applied"}}));
    }
    Run::new(contract(with), vec![events]).diagnosed()
}

#[test]
fn a_stale_count_is_no_control_though_all_windows_have_the_same() {
    let window = |n: [u64; 3]| n.map(|n| (n, n as f64 * 2.5, n as f64 * 0.25));
    let windows = [window([3, 6, 1]), window([6, 3, 1])];
    let report = small(json!({}), &[(&windows[0], None), (&windows[1], None)]);
    assert_eq!((report.recipes, report.control), (vec!["token-mean".to_owned()], false));
}

#[test]
fn recipes_that_fit_within_tolerance_but_differ_are_all_named() {
    // N = 30 and Σu = 33: within 20 % of each other, and no equal weights.
    let window = [(9, 20.0, 20.0 / 99.0), (10, 21.0, 21.0 / 99.0), (11, 22.0, 22.0 / 99.0)];
    let report = small(json!({"tolerance": {"absolute": 0.0, "relative": 0.04}}), &[(&window, None)]);
    assert_eq!(report.recipes, ["unshifted-count/K"]);
    let report = small(json!({"tolerance": {"absolute": 0.0, "relative": 0.12}}), &[(&window, None)]);
    assert!(report.recipes.contains(&"divided-twice".to_owned()), "{report:?}");
    assert!(report.recipes.contains(&"unshifted-count/K".to_owned()), "{report:?}");
}

#[test]
fn logs_that_average_windows_are_explained_too() {
    let window = |n: [u64; 3], loss: f64| -> [Small; 3] { n.map(|n| (n, loss * n as f64 * n as f64, f64::NAN)) };
    let mean = |window: &[Small]| window.iter().map(|w| w.1 / w.0 as f64).sum::<f64>() / 3.0;
    let windows: Vec<_> = (1..=6).map(|w| window([3, 5 + w, 1], 1.0 + w as f64 / 7.0)).collect();
    let logged = |last: usize| json!({"loss": (mean(&windows[last - 1]) + mean(&windows[last])) / 2.0, "windows": 2});
    let runs: Vec<(&[_], Option<Value>)> =
        windows.iter().enumerate().map(|(w, window)| (&window[..], (w % 2 == 1).then(|| logged(w)))).collect();
    let report = small(json!({}), &runs);
    assert_eq!(report.recipes[0], "mean-of-means");
    assert_eq!(report.text.split(" follow").next(), Some("logged losses"));
    // One that is another's in a later log is no longer explained.
    let mut runs = runs;
    runs[5].1 = Some(json!({"loss": 1.0, "windows": 2}));
    assert_eq!(small(json!({}), &runs).recipes, [""; 0]);
}

#[test]
fn weights_are_described_where_no_recipe_fits() {
    let window = |weight: fn(f64) -> f64| [(2, 4.0), (5, 7.0), (9, 8.0)].map(|(n, l)| (n, l, l * weight(n as f64)));
    let means = small(json!({}), &[(&window(|n| 5.0 / (3.0 * n)), None)]);
    assert!(means.text.contains("proportional to 1/n: 5 times the mean of means"), "{}", means.text);
    let ratio = small(json!({}), &[(&window(|_| 1.0 / 40.0), None)]);
    assert!(ratio.text.contains("the denominator is N + 24: in window 0 40 where N is 16"), "{}", ratio.text);
    let fraction = small(json!({}), &[(&window(|_| 1.0 / 3.7), None)]);
    assert!(fraction.text.contains("is 0.23125 N: in window 0 3.7 where N is 16"), "{}", fraction.text);
    let mean = small(json!({}), &[(&window(|n| n / 16.0), None)]);
    assert!(mean.text.contains("proportional to n (n/16 in window 0, where N is 16)"), "{}", mean.text);
    assert!(mean.text.contains("`loss_sum` looks like a mean and not a sum"), "{}", mean.text);
    let groups = small(json!({}), &[(&window(|n| if n > 8.0 { 1.0 / 15.0 } else { 1.0 / 21.0 }), None)]);
    assert!(groups.text.contains("equal in groups") && groups.text.contains("21 for 2, 15 for 1"), "{}", groups.text);
    let other = small(json!({}), &[(&window(|n| n * n / 1000.0), None)]);
    assert!(other.text.contains("no pattern"), "{}", other.text);
}

#[test]
fn a_deviation_that_no_rounding_should_be_given_credit_for_needs_no_lower_precision() {
    // 20,000 targets in bfloat16 could round by 8·√20003/256, four times everything; 10 % is no rounding all the same.
    let window = [(9_000, 9_000.0, 0.55), (9_000, 9_000.0, 0.40), (2_000, 2_000.0, 0.105)];
    let report = small(json!({"precision": "float32"}), &[(&window, None)]);
    assert_eq!((report.recipes.len(), report.precision), (0, None));
    assert!(!report.text.contains("rounding"), "{}", report.text);
}

/// Two microbatches of 3 and 4 targets, rightly weighted.
const RIGHT: [Small; 2] = [(3, 1.2, 1.2 / 7.0), (4, 4.8, 4.8 / 7.0)];

#[test]
fn a_stale_count_explains_no_log_that_it_does_not_judge() {
    let run =
        |loss: f64| small(json!({"accumulation_steps": 2}), &[(&RIGHT, Some(json!({"loss": loss}))), (&RIGHT, None)]);
    for loss in [0.8, 12.34] {
        let report = run(loss);
        assert_eq!(report.recipes, ["token-mean"], "{report:?}");
        assert!(report.text.starts_with("backward losses (without the logged losses"), "{report:?}");
        assert!(!report.text.contains("stale"), "{report:?}");
    }
    assert!(run(0.8).text.contains("the logged losses alone follow mean-of-means"), "{}", run(0.8).text);
}

#[test]
fn one_weight_alone_makes_no_stale_count() {
    let short: [Small; 1] = [RIGHT[0]];
    let report = small(json!({"accumulation_steps": 2}), &[(&RIGHT, None), (&short, None)]);
    assert_eq!((report.recipes.len(), report.short_windows.len()), (0, 0), "{report:?}");
    let weight = "in window 1 only one weight was recorded: its effective denominator is N + 4";
    assert!(report.text.contains(weight), "{}", report.text);
    assert!(report.text.contains("a microbatch of a short window may be missing"), "{}", report.text);
}

#[test]
fn a_stale_count_is_named_where_it_shows() {
    let stale: [Small; 2] = [(5, 6.0, 6.0 / 7.0), (6, 4.0, 4.0 / 7.0)];
    let report = small(json!({"accumulation_steps": 2}), &[(&RIGHT, None), (&stale, None)]);
    assert_eq!(report.recipes, ["stale-denominator"], "{report:?}");
}

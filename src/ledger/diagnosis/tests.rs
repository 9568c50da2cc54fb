//! Every recipe on runs made by it, with weights worked out here and nowhere else.
use super::DiagnosisReport;
use super::recipe::Factor;
use super::recipe::Recipe;
use crate::ledger::base::Base;
use crate::ledger::sample::Run;
use crate::ledger::sample::contract;
use crate::numeric::rounding::Arithmetic;
use serde_json::Value;
use serde_json::json;

/// A microbatch as the run's data has it.
#[derive(Clone, Copy)]
struct Data {
    n: u64,
    u: u64,
    rows: u64,
    slots: u64,
    loss: f64,
    gradient: [f64; 2],
}

/// What is varied.
#[derive(Clone, Copy)]
struct Options {
    ranks: usize,
    mean: bool,
    /// Microbatches in each window.
    windows: &'static [usize],
    /// The same n everywhere.
    equal: bool,
    /// As if computed in float32.
    single: bool,
    /// Later rescale, and what is put into the backward losses to undo it.
    rescale: Option<f64>,
    auxiliary: bool,
    weights: bool,
    logged: bool,
    gradient: bool,
    norm: bool,
    accumulated: bool,
}

impl Options {
    fn round(self, value: f64) -> f64 {
        if self.single { f64::from(value as f32) } else { value }
    }
}

const PLAIN: Options = Options {
    ranks: 1,
    mean: true,
    windows: &[4, 4, 4, 2],
    equal: false,
    single: false,
    rescale: None,
    auxiliary: false,
    weights: true,
    logged: true,
    gradient: false,
    norm: false,
    accumulated: false,
};
const K: f64 = 4.0;

/// Data by window, rank and backward; numbers that have nothing to do with each other.
fn data(options: Options) -> Vec<Vec<Vec<Data>>> {
    let mut state = 12_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut microbatch = |rank: usize| {
        let n = if options.equal { 7 } else { 3 + next(20) + 7 * rank as u64 };
        let rows = 1 + next(4);
        let u = n + 1 + next(rows);
        let loss = n as f64 * (3.0 + next(1000) as f64 / 1000.0);
        let gradient = [next(512) as f64 / 64.0 - 4.0, next(512) as f64 / 64.0 - 4.0];
        Data { n, u, rows, slots: u + 3 + next(20), loss, gradient }
    };
    let rank = |rank, k: usize, microbatch: &mut dyn FnMut(usize) -> Data| (0..k).map(|_| microbatch(rank)).collect();
    let window = |&k: &usize| (0..options.ranks).map(|r| rank(r, k, &mut microbatch)).collect();
    options.windows.iter().map(window).collect()
}

/// f, straight from the table of MANIFEST.md §6.
fn weight(base: Base, window: &[Vec<Data>], previous: Option<u64>, rank: usize, index: usize, mean: bool) -> f64 {
    let ranks = window.len() as f64;
    let c = if mean { ranks } else { 1.0 };
    let all = || window.iter().flatten();
    let sum = |of: fn(&Data) -> u64| all().map(of).sum::<u64>() as f64;
    let own = |of: fn(&Data) -> u64| window[rank].iter().map(of).sum::<u64>() as f64;
    let this = window[rank][index];
    let (n, k) = (this.n as f64, window[rank].len() as f64);
    match base {
        Base::TokenMean | Base::LastMicrobatchOnly | Base::FirstMicrobatchOnly => c / sum(|d| d.n),
        Base::MeanOfMeans => c / (ranks * k * n),
        Base::RankTokenMean => c / (ranks * own(|d| d.n)),
        Base::MicrobatchGlobalMean => c / (k * window.iter().map(|r| r[index].n).sum::<u64>() as f64),
        Base::UnshiftedCount => c / sum(|d| d.u),
        Base::RankUnshiftedCount => c / (ranks * own(|d| d.u)),
        Base::UnshiftedWeightedMeans => c * this.u as f64 / (n * sum(|d| d.u)),
        Base::SlotMean => c / sum(|d| d.slots),
        Base::RowWeighted => c * this.rows as f64 / (sum(|d| d.rows) * n),
        Base::StaleDenominator => c / previous.unwrap_or(99) as f64,
        Base::Unnormalized => c,
    }
}

fn factor(factor: Factor, k: f64, ranks: f64) -> f64 {
    match factor {
        Factor::One => 1.0,
        Factor::TimesNominal => K,
        Factor::OverNominal => 1.0 / K,
        Factor::TimesActual => k,
        Factor::OverActual => 1.0 / k,
        Factor::ActualOverNominal => k / K,
        Factor::TimesRanks => ranks,
        Factor::OverRanks => 1.0 / ranks,
    }
}

/// A run that follows a recipe.
fn run(recipe: Recipe, options: Options) -> Run {
    run_with(recipe, options, json!({}))
}

fn run_with(recipe: Recipe, options: Options, declared: Value) -> Run {
    let mut ranks = vec![Vec::new(); options.ranks];
    let mut previous = None;
    for (number, window) in data(options).iter().enumerate() {
        let made = Made::by(recipe, options, window, previous);
        for (rank, events) in ranks.iter_mut().enumerate() {
            for index in 0..window[rank].len() {
                events.push(json!({"backward": made.backward(options, window, (number, rank, index))}));
            }
            if let Some(factor) = options.rescale {
                events.push(json!({"rescale": {"factor": factor}}));
            }
            events.push(json!({"logged": made.logged(options, number)}));
            events.push(json!({"optimizer_step": {"window": number, "outcome": "applied"}}));
            events.push(json!("zero_grad"));
        }
        previous = Some(window.iter().flatten().map(|data| data.n).sum());
    }
    let relative = if options.single { 1e-5 } else { 1e-10 };
    let mut with = json!({
        "accumulation_steps": 4, "world_size": options.ranks, "precision": "float32", "loss_precision": "float32",
        "gradient_reduction": if options.mean { "mean" } else { "sum" },
        "gradient_basis": {"kind": "complete", "dimension": 2},
        "tolerance": {"absolute": relative / 10.0, "relative": relative},
    });
    with.as_object_mut().expect("an object").extend(declared.as_object().expect("an object").clone());
    Run::new(contract(with), ranks)
}

/// What a recipe makes of a window.
struct Made {
    /// By rank and backward.
    weights: Vec<Vec<f64>>,
    /// What each backward leaves in its rank's buffers, after every rescale and before any all-reduce.
    buffers: Vec<Vec<[f64; 2]>>,
    loss: f64,
    gradient: [f64; 2],
}

impl Made {
    fn by(recipe: Recipe, options: Options, window: &[Vec<Data>], previous: Option<u64>) -> Self {
        let c = if options.mean { options.ranks as f64 } else { 1.0 };
        let times = factor(recipe.factor, window[0].len() as f64, options.ranks as f64);
        let mut made = Made { weights: Vec::new(), buffers: Vec::new(), loss: 0.0, gradient: [0.0; 2] };
        for (rank, microbatches) in window.iter().enumerate() {
            let (mut weights, mut buffers, mut held) = (Vec::new(), Vec::new(), [0.0; 2]);
            for (index, data) in microbatches.iter().enumerate() {
                let f = times * weight(recipe.base, window, previous, rank, index, options.mean);
                made.loss += options.round(f * data.loss) / c;
                held = std::array::from_fn(|element| match recipe.base {
                    Base::LastMicrobatchOnly => f * data.gradient[element],
                    Base::FirstMicrobatchOnly if index > 0 => held[element],
                    _ => held[element] + f * data.gradient[element],
                });
                weights.push(f);
                buffers.push(held);
            }
            made.gradient = std::array::from_fn(|element| made.gradient[element] + held[element] / c);
            made.weights.push(weights);
            made.buffers.push(buffers);
        }
        made
    }

    fn backward(&self, options: Options, window: &[Vec<Data>], at: (usize, usize, usize)) -> Value {
        let (number, rank, index) = at;
        let data = window[rank][index];
        let is_last = index + 1 == window[rank].len();
        let later = options.rescale.unwrap_or(1.0);
        let mut fields = json!({
            "window": number, "microbatch": format!("w{number}-r{rank}-m{index}"), "valid_targets": data.n,
            "loss_sum": data.loss, "rows": data.rows, "slots": data.slots, "unshifted_targets": data.u,
        });
        let auxiliary = if options.auxiliary { 0.25 } else { 0.0 };
        if options.weights {
            let loss = options.round(self.weights[rank][index] * data.loss / later);
            fields["backward_loss"] = json!(loss + auxiliary);
        }
        if options.auxiliary {
            fields["auxiliary_loss"] = json!(auxiliary);
        }
        if options.ranks > 1 {
            fields["sync"] = json!(is_last);
        }
        if options.gradient || options.norm || options.accumulated {
            fields["gradient_sum"] = json!(data.gradient);
        }
        if options.accumulated && (options.ranks == 1 || !is_last) {
            fields["accumulated"] = json!(self.buffers[rank][index].map(|value| options.round(value / later)));
        }
        fields
    }

    fn logged(&self, options: Options, number: usize) -> Value {
        let mut logged = json!({"window": number});
        if options.logged {
            logged["loss"] = json!(self.loss);
        }
        if options.gradient {
            logged["gradient"] = json!(self.gradient.map(|value| options.round(value)));
        }
        if options.norm {
            logged["grad_norm"] = json!(options.round(self.gradient[0].hypot(self.gradient[1])));
        }
        logged
    }
}

fn is_named(report: &DiagnosisReport, recipe: Recipe) -> bool {
    report.recipes.contains(&recipe.name())
}

/// Every recipe that differs from the others in some window of the run.
fn distinct(ranks: usize) -> impl Iterator<Item = Recipe> {
    Recipe::all().filter(move |recipe| recipe.on(ranks as u64) == *recipe)
}

#[test]
fn every_recipe_is_named_from_weights_and_logs() {
    for ranks in [1, 2] {
        for mean in [true, false] {
            for recipe in distinct(ranks).filter(|recipe| !recipe.base.overwrites()) {
                let options = Options { ranks, mean, ..PLAIN };
                for options in [
                    options,
                    Options { logged: false, ..options },
                    Options { weights: false, ..options },
                    Options { single: true, ..options },
                    Options { rescale: Some(1.0 / 64.0), ..options },
                    Options { auxiliary: true, ..options },
                ] {
                    let report = run(recipe, options).diagnosed();
                    assert!(is_named(&report, recipe), "{} on {ranks} ranks: {report:?}", recipe.name());
                    let same =
                        |name: &&String| Recipe::all().any(|r| &&r.name() == name && r.on(ranks as u64) == recipe);
                    assert!(report.recipes.iter().all(|name| same(&name)), "{}: {report:?}", recipe.name());
                    assert!(!report.control, "{}: {report:?}", recipe.name());
                }
            }
        }
    }
}

#[test]
fn every_recipe_is_named_from_gradients_alone() {
    let silent = Options { weights: false, logged: false, ..PLAIN };
    for ranks in [1, 2] {
        for recipe in distinct(ranks) {
            for options in [
                Options { ranks, gradient: true, ..silent },
                Options { ranks, norm: true, ..silent },
                Options { ranks, accumulated: true, ..silent },
                Options { ranks, gradient: true, single: true, ..silent },
                Options { ranks, accumulated: true, rescale: Some(1.0 / 32.0), ..silent },
            ] {
                let report = run(recipe, options).diagnosed();
                assert!(is_named(&report, recipe), "{} on {ranks} ranks: {report:?}", recipe.name());
            }
        }
    }
}

#[test]
fn overwritten_gradients_are_named_though_the_losses_are_right() {
    for base in [Base::LastMicrobatchOnly, Base::FirstMicrobatchOnly] {
        for ranks in [1, 2] {
            for evidence in 0..3 {
                let options = Options {
                    ranks,
                    gradient: evidence == 0,
                    norm: evidence == 1,
                    accumulated: evidence == 2,
                    ..PLAIN
                };
                let report = run(Recipe { base, factor: Factor::One }, options).diagnosed();
                assert_eq!(report.recipes, [base.name()]);
            }
        }
    }
    // Losses alone don't show it.
    let report = run(Recipe { base: Base::LastMicrobatchOnly, factor: Factor::One }, PLAIN).diagnosed();
    assert_eq!(report.recipes, ["token-mean"]);
}

#[test]
fn a_right_run_is_right_whatever_is_recorded() {
    for ranks in [1, 2] {
        for mean in [true, false] {
            let whole = Options { ranks, mean, gradient: true, norm: true, accumulated: true, ..PLAIN };
            for options in [
                whole,
                Options { single: true, ..whole },
                Options { rescale: Some(1.0 / 64.0), ..whole },
                Options { auxiliary: true, ..whole },
                Options { equal: true, ..whole },
            ] {
                let run = run(Recipe::TOKEN_MEAN, options);
                let report = run.diagnosed();
                assert_eq!(report.recipes, ["token-mean"]);
                assert_eq!((report.full_windows, report.short_windows), (report.recipes.clone(), report.recipes));
                assert_eq!(report.control, options.equal);
            }
        }
    }
}

#[test]
fn equal_windows_are_a_control_and_say_so() {
    let report = run(Recipe::TOKEN_MEAN, Options { equal: true, windows: &[4, 4], ..PLAIN }).diagnosed();
    assert!(report.control);
    assert!(report.text.contains("control: mean-of-means"), "{report:?}");
    // One window says nothing of a stale count, which therefore is no control.
    let report = run(Recipe::TOKEN_MEAN, Options { windows: &[4, 4], ..PLAIN }).diagnosed();
    assert!(!report.control);
}

#[test]
fn what_full_windows_cannot_tell_apart_is_named_together() {
    let full = Options { windows: &[4, 4], ..PLAIN };
    let named = |base, factor, options| run(Recipe { base, factor }, options).diagnosed();
    let report = named(Base::MeanOfMeans, Factor::One, full);
    assert_eq!(report.recipes, ["mean-of-means", "microbatch-global-mean", "mean-of-means-nominal"]);
    assert!(report.text.contains("cannot tell them apart"));
    assert!(!report.control);
    let report = named(Base::TokenMean, Factor::OverActual, full);
    assert_eq!(report.recipes, ["divided-twice", "divided-twice-nominal"]);
    // No product of this base has a name: it is listed once.
    let report = named(Base::UnshiftedCount, Factor::OverNominal, full);
    assert_eq!(report.recipes, ["unshifted-count/K"]);
    // W = k hides which of the two is lost.
    let report = named(Base::TokenMean, Factor::OverRanks, Options { ranks: 4, windows: &[4, 4], ..PLAIN });
    assert_eq!(report.recipes, ["divided-twice", "divided-twice-nominal", "world-size-lost"]);
}

#[test]
fn full_and_short_windows_are_explained_apart() {
    let mut long = run(Recipe::TOKEN_MEAN, PLAIN);
    let short = run(Recipe { base: Base::MeanOfMeans, factor: Factor::ActualOverNominal }, PLAIN);
    *long.windows.last_mut().expect("a window") = short.windows.last().expect("a window").clone();
    let report = long.diagnosed();
    assert_eq!(report.recipes, [""; 0]);
    assert_eq!(report.full_windows, ["token-mean"]);
    assert_eq!(report.short_windows, ["mean-of-means-nominal"]);
    assert!(report.text.contains("windows of K microbatches follow token-mean"), "{report:?}");
}

#[test]
fn a_log_that_is_wrong_alone_is_left_out_and_named() {
    let mut right = run(Recipe::TOKEN_MEAN, PLAIN);
    let wrong = run(Recipe { base: Base::MeanOfMeans, factor: Factor::One }, PLAIN);
    for (right, wrong) in right.windows.iter_mut().zip(&wrong.windows) {
        for (right, wrong) in right.ranks[0].events.iter_mut().zip(&wrong.ranks[0].events) {
            if wrong.event.tag() == "logged" {
                *right = wrong.clone();
            }
        }
    }
    let report = right.diagnosed();
    assert_eq!(report.recipes, ["token-mean"]);
    assert!(report.text.contains("without the logged losses"), "{report:?}");
    assert!(report.text.contains("logged losses alone follow mean-of-means"), "{report:?}");
}

#[test]
fn a_loss_in_lower_precision_than_declared_is_named() {
    let double = json!({"precision": "float64", "loss_precision": "float64",
                        "tolerance": {"absolute": 1e-12, "relative": 1e-10}});
    let single = Options { single: true, ..PLAIN };
    let report = run_with(Recipe::TOKEN_MEAN, single, double.clone()).diagnosed();
    assert_eq!((report.recipes, report.precision), (vec!["token-mean".to_owned()], Some(Arithmetic::Float32)));
    assert!(report.text.contains("float32"), "{}", report.text);
    // Where equal windows let other recipes fit too, nothing is claimed.
    let equal = Options { equal: true, ..single };
    let report = run_with(Recipe::TOKEN_MEAN, equal, double).diagnosed();
    assert_eq!((report.recipes, report.precision), (vec![], None));
    assert!(report.text.contains("within the rounding of float32 several fit"), "{}", report.text);
}

#[test]
fn a_denominator_is_never_rounding() {
    // N + 1 of some 50 targets is 2 %: within what float16 could do over them, but alike in all weights.
    let mut run = run(Recipe::TOKEN_MEAN, Options { logged: false, ..PLAIN });
    for window in &mut run.windows {
        let n: u64 = window.ranks[0].backwards().map(|(_, _, backward)| backward.valid_targets.get()).sum();
        for indexed in &mut window.ranks[0].events {
            if let crate::manifest::event::Event::Backward(backward) = &mut indexed.event {
                let loss = backward.loss_sum.expect("a loss").get() / (n + 1) as f64;
                backward.backward_loss = crate::canonical::Finite::new(loss).ok();
            }
        }
    }
    let report = run.diagnosed();
    assert_eq!((report.recipes, report.precision), (vec![], None));
    assert!(report.text.contains("the denominator is N + 1"), "{}", report.text);
}

#[test]
fn nothing_recorded_is_nothing_diagnosed() {
    let silent = Options { weights: false, logged: false, ..PLAIN };
    let report = run(Recipe::TOKEN_MEAN, silent).diagnosed();
    assert_eq!((report.recipes.len(), report.control), (0, false));
    assert!(report.text.contains("nothing was recorded"));
}

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

/// Windows of one rank: n, loss sum and backward loss of each microbatch, and a logged loss.
fn small(with: Value, windows: &[(&[(u64, f64, f64)], Option<Value>)]) -> DiagnosisReport {
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
    let window = |n: [u64; 3], loss: f64| n.map(|n| (n, loss * n as f64 * n as f64, f64::NAN));
    let mean = |window: &[(u64, f64, f64)]| window.iter().map(|w| w.1 / w.0 as f64).sum::<f64>() / 3.0;
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
    let groups = small(json!({}), &[(&window(|n| if n > 8.0 { 1.0 / 15.0 } else { 1.0 / 21.0 }), None)]);
    assert!(groups.text.contains("equal in groups") && groups.text.contains("21 for 2, 15 for 1"), "{}", groups.text);
    let other = small(json!({}), &[(&window(|n| n / 100.0), None)]);
    assert!(other.text.contains("no pattern"), "{}", other.text);
}

#[test]
fn a_deviation_that_no_rounding_should_be_given_credit_for_needs_no_lower_precision() {
    // 20,000 targets in bfloat16 could round by 8·√20003/256, four times everything; 10 % is no rounding all the same.
    let window = [(9_000, 9_000.0, 0.55), (9_000, 9_000.0, 0.40), (2_000, 2_000.0, 0.105)];
    let report = small(json!({"precision": "float32"}), &[(&window, None)]);
    assert_eq!((report.recipes.len(), report.precision), (0, None));
}

//! Every recipe on runs made by it.
mod made;
mod small;

use super::DiagnosisReport;
use super::recipe::Factor;
use super::recipe::Recipe;
use crate::ledger::base::Base;
use crate::numeric::rounding::Arithmetic;
use made::Options;
use made::PLAIN;
use made::run;
use made::run_with;
use serde_json::json;

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

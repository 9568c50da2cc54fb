//! Logged losses against what every recipe predicts.
use super::candidate::ENOUGH_TELLING;
use super::candidate::Kind;
use super::domain::Domain;
use super::recipe::Factor;
use super::recipe::Recipe;
use crate::canonical::Count;
use crate::ledger::base::Base;
use crate::ledger::claim::accepts_rounded;
use crate::ledger::claim::half_unit;
use crate::ledger::window::WindowLedger;
use crate::manifest::event::Logged;
use crate::manifest::limits::LOGGED_WINDOWS;
use crate::numeric::tolerance::Tolerance;
use std::collections::VecDeque;

/// Windows without any logged loss after which none is awaited any more.
const PATIENCE: usize = 512;

/// The losses that every base gives the latest windows in a row, as far as logs may ask for them: before the first
/// logged loss it is not known over how many windows logs are averaged, and later only averaged ones need the past.
#[derive(Clone, Debug, Default)]
pub(super) struct Predictions {
    windows: VecDeque<Prediction>,
    /// Whether any loss was logged, and whether any was averaged over windows.
    is_logged: bool,
    is_averaged: bool,
    /// Windows that waited for the first logged loss.
    awaited: usize,
}

/// What every base gives one window, in nats; NaN where that is not known or not asked.
#[derive(Clone, Copy, Debug)]
struct Prediction {
    losses: [f64; Base::COUNT],
    nominal: f64,
    actual: f64,
    ranks: f64,
}

impl Predictions {
    /// Takes in a window that was stepped or skipped; `asked` says of which bases the loss will matter.
    pub(super) fn push(&mut self, ledger: &WindowLedger, declared: Base, asked: [bool; Base::COUNT]) {
        let mut losses = [f64::NAN; Base::COUNT];
        for base in Base::ALL.into_iter().filter(|base| asked[base.index()]) {
            let shown = if base.overwrites() { declared } else { base };
            losses[base.index()] = loss(ledger, shown).unwrap_or(f64::NAN);
        }
        if self.windows.len() as u64 == LOGGED_WINDOWS {
            self.windows.pop_front();
        }
        let counts = &ledger.counts;
        self.windows.push_back(Prediction {
            losses,
            nominal: counts.accumulation_steps as f64,
            actual: counts.microbatches as f64,
            ranks: counts.world_size as f64,
        });
    }

    /// Whether the next window's losses may be asked for; `spans` are those of the losses logged about it.
    pub(super) fn are_wanted(&mut self, spans: impl Iterator<Item = u64>) -> bool {
        let mut is_logged_now = false;
        for span in spans {
            is_logged_now = true;
            self.is_averaged |= span > 1;
        }
        self.is_logged |= is_logged_now;
        self.awaited += 1;
        is_logged_now || self.is_averaged || !self.is_logged && self.awaited < PATIENCE
    }

    /// A window that no logged mean goes across.
    pub(super) fn interrupt(&mut self) {
        self.windows.clear();
    }

    /// Whether the latest `windows` windows are all full; `None` where so many are not known.
    fn are_full(&self, windows: usize) -> Option<bool> {
        let first = self.windows.len().checked_sub(windows)?;
        Some(self.windows.range(first..).all(|window| window.nominal == window.actual))
    }

    /// The mean loss of the latest `windows` windows under a recipe; NaN where one is not known.
    fn mean(&self, recipe: Recipe, windows: usize) -> f64 {
        let first = self.windows.len().saturating_sub(windows);
        let loss = |window: &Prediction| {
            let factor = recipe.factor.value_for(window.nominal, window.actual, window.ranks);
            window.losses[recipe.base.index()] * factor
        };
        self.windows.range(first..).map(loss).sum::<f64>() / windows as f64
    }
}

/// Σ f·loss_sum / c under a base.
fn loss(ledger: &WindowLedger, base: Base) -> Option<f64> {
    if ledger.nonfinite > 0 {
        return None;
    }
    if base == Base::TokenMean {
        return ledger.token_mean;
    }
    let mut sum = 0.0;
    for microbatch in ledger.microbatches.iter().filter(|microbatch| microbatch.valid_targets > 0) {
        sum += ledger.counts.fraction(base, microbatch)?.weight() * microbatch.loss_sum?;
    }
    Some(sum / ledger.counts.reduction as f64)
}

/// The bases that domains still have a candidate of, and the declared one.
pub(super) fn asked(domains: [&Domain; 2], declared: Base) -> [bool; Base::COUNT] {
    let mut asked = [false; Base::COUNT];
    asked[declared.index()] = true;
    for candidate in domains.into_iter().flat_map(|domain| &domain.candidates) {
        asked[candidate.recipe.base.index()] |= !candidate.fit(Kind::Loss).is_dead();
    }
    asked
}

/// Compares a loss logged about the latest window; `domains` are the full windows' and the others', `declared` is the
/// contract's base.
pub(super) fn compare(
    predictions: &Predictions,
    tolerance: Tolerance,
    ledger: &WindowLedger,
    logged: &Logged,
    declared: Base,
    domains: [&mut Domain; 2],
) {
    let Some(recorded) = logged.loss else { return };
    let recorded = recorded.get();
    let windows = logged.windows.map_or(1, Count::get) as usize;
    let Some(are_full) = predictions.are_full(windows).filter(|_| windows > 0) else { return };
    let [full, other] = domains;
    let domain = if are_full { full } else { other };
    let half_unit = half_unit(logged);
    let auxiliary = if windows == 1 { ledger.auxiliary } else { None };
    let accepts = |predicted| accepts_rounded(tolerance, recorded, predicted, half_unit);
    let is_accepted =
        |predicted: f64| accepts(predicted) || auxiliary.is_some_and(|auxiliary| accepts(predicted + auxiliary));
    let expected = predictions.mean(Recipe { base: declared, factor: Factor::One }, windows);
    let is_declared = !expected.is_finite() || is_accepted(expected);
    for candidate in &mut domain.candidates {
        let predicted = predictions.mean(candidate.recipe, windows);
        let fit = candidate.fit_mut(Kind::Loss);
        if !predicted.is_finite() || fit.is_dead() {
            continue;
        }
        domain.recorded[Kind::Loss as usize] = true;
        fit.compared += 1;
        fit.telling += if is_declared { 0 } else { ENOUGH_TELLING };
        if !is_accepted(predicted) {
            let beyond = ((recorded - predicted).abs() - half_unit).max(0.0);
            fit.differ(beyond / predicted.abs(), ledger.terms());
        }
    }
}

/// The candidates of a domain in which only losses are compared: those that contradict them are dropped.
pub(super) fn drop_dead(domain: &mut Domain) {
    domain.candidates.retain(|candidate| !candidate.fit(Kind::Loss).is_dead() && !candidate.recipe.base.overwrites());
}

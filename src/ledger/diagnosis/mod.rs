//! Which recipe explains what was recorded (MANIFEST.md §6).
//!
//! A fold over windows: recipes that contradict the recorded numbers are dropped as they do, so that memory does not grow
//! with windows and a long run costs little more than its sums.
mod candidate;
mod conclude;
mod domain;
mod losses;
pub mod recipe;
mod shape;
#[cfg(test)]
mod tests;
mod text;
mod vectors;

use super::base::Base;
use super::claim::logged;
use super::window::WindowLedger;
use crate::canonical::Count;
use crate::manifest::contract::Contract;
use crate::manifest::window::Window;
use crate::numeric::rounding::Arithmetic;
use crate::numeric::tolerance::Tolerance;
use domain::Domain;
use domain::Setting;
use losses::Predictions;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use shape::Shapes;

/// The receipt's `diagnosis`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiagnosisReport {
    /// The recipes that explain every window, the simplest first; empty where none does.
    pub recipes: Vec<String>,
    /// Those that explain the windows of K microbatches.
    pub full_windows: Vec<String>,
    /// Those that explain the other windows; empty also where there are none.
    pub short_windows: Vec<String>,
    /// Whether another base, not the same by construction, explains the run as well as token-mean: nothing here could
    /// have shown that fault.
    pub control: bool,
    /// The lower precision than declared that the explanation needs, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Arithmetic>,
    /// All of it in words, with what was compared.
    pub text: String,
}

/// Finds the recipe that a run followed.
pub struct Diagnosis {
    contract: Contract,
    setting: Setting,
    tolerance: Tolerance,
    /// Windows of K microbatches.
    full: Domain,
    /// The others.
    other: Domain,
    /// What the logged losses say when asked alone.
    logged: [Domain; 2],
    predictions: Predictions,
    shapes: Shapes,
    facts: Facts,
}

/// What holds in every window that was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Facts {
    /// W.
    ranks: u64,
    /// k = K everywhere.
    all_full: bool,
    /// k = 1 everywhere.
    single: bool,
}

impl Diagnosis {
    /// For a run under a contract.
    pub fn new(contract: &Contract) -> Self {
        let ranks = contract.world_size.get();
        let declared = contract.tolerance;
        let tolerance = Tolerance::new(declared.absolute.get(), declared.relative.get());
        let tolerance = tolerance.unwrap_or_else(|| Tolerance::new(0.0, 0.0).expect("bug: 0 is a tolerance"));
        Diagnosis {
            contract: contract.clone(),
            setting: Setting { declared: Base::of(contract.formula), relative: tolerance.relative() },
            tolerance,
            full: Domain::new(ranks, true),
            other: Domain::new(ranks, false),
            logged: [Domain::new(ranks, true), Domain::new(ranks, false)],
            predictions: Predictions::default(),
            shapes: Shapes::default(),
            facts: Facts { ranks, all_full: true, single: true },
        }
    }

    /// Takes in a window; only `eligible` ones, stepped or skipped in this run, are compared.
    pub fn observe(&mut self, window: &Window, ledger: &WindowLedger, eligible: bool) {
        if window.ranks.iter().any(|rank| rank.restore.is_some()) {
            self.predictions.interrupt();
        }
        if !eligible || ledger.counts.valid_targets == 0 {
            self.predictions.interrupt();
            return;
        }
        let is_full = ledger.is_full();
        self.facts.all_full &= is_full;
        self.facts.single &= ledger.counts.microbatches == 1;
        let domain = if is_full { &mut self.full } else { &mut self.other };
        domain.turn_to(ledger, self.setting);
        domain.weigh(ledger, self.setting);
        if ledger.weights.off > 0 || ledger.weights.compared == 0 {
            self.shapes.add(ledger, self.setting.relative, self.contract.loss_arithmetic());
        } else {
            self.shapes.add_declared(ledger.window);
        }
        self.compare_losses(window, ledger);
        let (contract, tolerance, setting) = (&self.contract, self.tolerance, self.setting);
        let domain = if is_full { &mut self.full } else { &mut self.other };
        if ledger.gradients.is_some() {
            vectors::compare_gradients(contract, tolerance, window, ledger, setting, domain);
        }
        vectors::compare_buffers(contract, tolerance, window, ledger, setting, domain);
        if domain.recorded.contains(&true) {
            domain.part(ledger);
        }
    }

    fn compare_losses(&mut self, window: &Window, ledger: &WindowLedger) {
        let logs = ledger.has_logs.then(|| logged(window));
        let losses =
            || logs.clone().into_iter().flatten().map(|(_, _, logged)| logged).filter(|logged| logged.loss.is_some());
        let spans = losses().map(|logged| logged.windows.map_or(1, Count::get));
        if !self.predictions.are_wanted(spans) {
            self.predictions.interrupt();
            return;
        }
        let [logged_full, logged_other] = &mut self.logged;
        let alike = if ledger.is_full() { [&self.full, &*logged_full] } else { [&self.other, &*logged_other] };
        let declared = self.setting.declared;
        self.predictions.push(ledger, declared, losses::asked(alike, declared));
        for logged in losses() {
            let (predictions, tolerance) = (&self.predictions, self.tolerance);
            losses::compare(predictions, tolerance, ledger, logged, declared, [&mut self.full, &mut self.other]);
            losses::compare(predictions, tolerance, ledger, logged, declared, [&mut *logged_full, &mut *logged_other]);
        }
        if losses().next().is_some() {
            losses::drop_dead(logged_full);
            losses::drop_dead(logged_other);
        }
    }

    /// What explains the run.
    pub fn finish(self) -> DiagnosisReport {
        let conclusion = conclude::conclude(&self);
        DiagnosisReport {
            recipes: conclude::names(&conclusion.recipes),
            full_windows: conclude::names(&conclusion.full),
            short_windows: conclude::names(&conclusion.short),
            control: !conclusion.controls.is_empty(),
            precision: conclusion.precision,
            text: text::text(&self, &conclusion),
        }
    }
}

//! The windows of one kind, full ones or the others, and what they leave of the recipes.
use super::candidate::Candidate;
use super::candidate::Inverse;
use super::candidate::Kind;
use super::candidate::distinct;
use super::recipe::Recipe;
use crate::ledger::base::Base;
use crate::ledger::microbatch::Microbatch;
use crate::ledger::weights::OWN_ROUNDING;
use crate::ledger::weights::Ratios;
use crate::ledger::window::WindowLedger;

/// Relative distance up to which two weights computed differently from the same counts are the same.
const SAME: f64 = 64.0 * f64::EPSILON;

/// What every kind of window knows of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    /// The declared recipe's base.
    pub(super) declared: Base,
    /// The contract's relative tolerance.
    pub(super) relative: f64,
}

/// Windows of one kind.
#[derive(Clone, Debug)]
pub(super) struct Domain {
    /// Whether they are those of K microbatches.
    full: bool,
    /// How many were taken in.
    pub(super) windows: u64,
    /// Whether each kind of evidence was recorded in any of them.
    pub(super) recorded: [bool; 5],
    /// What may still explain all of them.
    pub(super) candidates: Vec<Candidate>,
}

impl Domain {
    /// No window yet: everything may explain them.
    pub(super) fn new(ranks: u64, full: bool) -> Self {
        Domain { full, windows: 0, recorded: [false; 5], candidates: distinct(ranks, full) }
    }

    /// Makes every candidate ready to be asked about a window with targets.
    pub(super) fn turn_to(&mut self, ledger: &WindowLedger, setting: Setting) {
        self.windows += 1;
        let Some(first) = ledger.microbatches.iter().find(|microbatch| microbatch.valid_targets > 0) else { return };
        for candidate in &mut self.candidates {
            candidate.inverse = Inverse::of(candidate.recipe, setting.declared, &ledger.counts, first);
        }
    }

    /// Compares the weights seen in a window with every candidate's, and drops those that contradict them.
    pub(super) fn weigh(&mut self, ledger: &WindowLedger, setting: Setting) {
        if ledger.microbatches.iter().all(|microbatch| microbatch.seen().is_none()) {
            return;
        }
        self.recorded[Kind::Weights as usize] = true;
        let terms = ledger.terms();
        let mut is_any_dead = false;
        for candidate in &mut self.candidates {
            let inverse = candidate.inverse;
            let Some(worst) = worst(inverse, ledger) else { continue };
            let fit = candidate.fit_mut(Kind::Weights);
            fit.compared += 1;
            fit.telling += ledger.weights.off;
            if worst > setting.relative + OWN_ROUNDING {
                fit.differ(worst, terms);
                if !fit.is_dead() && is_off_by_one_factor(inverse, ledger, setting.relative) {
                    fit.contradict();
                }
                is_any_dead |= fit.is_dead();
            }
        }
        if is_any_dead {
            self.candidates.retain(|candidate| !candidate.fit(Kind::Weights).is_dead());
        }
    }

    /// Parts the classes of candidates whose weights differ somewhere in a window, and counts the candidates whose
    /// weights are not known there.
    pub(super) fn part(&mut self, ledger: &WindowLedger) {
        for candidate in &mut self.candidates {
            candidate.unknown += u64::from(matches!(candidate.inverse, Inverse::Unknown));
        }
        // The first of each class, as it was before this window, and of what leaves it now.
        let mut leaders: Vec<(u32, usize)> = Vec::new();
        for index in 0..self.candidates.len() {
            if !self.candidates[index].is_viable(self.recorded) {
                continue;
            }
            let was = self.candidates[index].class;
            let mut of_class = leaders.iter().filter(|&&(class, _)| class == was).peekable();
            let is_first = of_class.peek().is_none();
            let inverse = |index: usize| self.candidates[index].inverse;
            let leader = of_class.find(|&&(_, leader)| agree(inverse(index), inverse(leader), ledger));
            match leader {
                Some(&(_, leader)) => self.candidates[index].class = self.candidates[leader].class,
                None => {
                    if !is_first {
                        self.candidates[index].class = self.candidates[index].recipe.number();
                    }
                    leaders.push((was, index));
                }
            }
        }
    }

    /// The candidate that stands for a recipe in these windows, if it is still open.
    pub(super) fn standing_for(&self, recipe: Recipe, ranks: u64) -> Option<&Candidate> {
        let recipe = recipe.on(ranks);
        let recipe = if self.full { recipe.in_full_window() } else { recipe };
        self.candidates.iter().find(|candidate| candidate.recipe == recipe)
    }
}

/// The greatest |f_seen/f − 1| of a window under a recipe; `None` where its weights are not known.
fn worst(inverse: Inverse, ledger: &WindowLedger) -> Option<f64> {
    let microbatches = &ledger.microbatches;
    match inverse {
        Inverse::Unknown => None,
        Inverse::Constant(inverse) => Some(greatest(microbatches, |_| inverse)),
        Inverse::Targets(coefficient) => {
            Some(greatest(microbatches, |microbatch| coefficient * microbatch.valid_targets as f64))
        }
        _ => {
            let counts = &ledger.counts;
            let known = |microbatch: &Microbatch| inverse.get(counts, microbatch).is_some();
            let seen = |microbatch: &&Microbatch| microbatch.seen().is_some();
            let all_known = microbatches.iter().filter(seen).all(known);
            all_known.then(|| greatest(microbatches, |microbatch| inverse.get(counts, microbatch).unwrap_or(f64::NAN)))
        }
    }
}

/// The maximum passes over NaN: a weight that was not seen, and none where the recipe gives none (0 · ∞).
#[inline]
fn greatest(microbatches: &[Microbatch], inverse: impl Fn(&Microbatch) -> f64) -> f64 {
    let deviation = |microbatch: &Microbatch| (microbatch.seen_or_nan() * inverse(microbatch) - 1.0).abs();
    microbatches.iter().map(deviation).fold(0.0, f64::max)
}

/// Whether all of a window's weights are off by one factor: that is a denominator, and never rounding.
fn is_off_by_one_factor(inverse: Inverse, ledger: &WindowLedger, relative: f64) -> bool {
    let mut ratios = Ratios::default();
    for microbatch in &ledger.microbatches {
        let Some((seen, inverse)) = microbatch.seen().zip(inverse.get(&ledger.counts, microbatch)) else { continue };
        let ratio = seen * inverse;
        ratios.add(ratio, (ratio - 1.0).abs() > relative + OWN_ROUNDING);
    }
    ratios.one_factor().is_some()
}

/// Whether two recipes give every microbatch of a window the same weight, or one of them is not known.
fn agree(left: Inverse, right: Inverse, ledger: &WindowLedger) -> bool {
    let same = |left: f64, right: f64| left == right || (left - right).abs() <= SAME * left.abs();
    match (left, right) {
        (Inverse::Unknown, _) | (_, Inverse::Unknown) => true,
        (Inverse::Constant(left), Inverse::Constant(right)) | (Inverse::Targets(left), Inverse::Targets(right)) => {
            same(left, right)
        }
        _ => ledger.microbatches.iter().filter(|microbatch| microbatch.valid_targets > 0).all(|microbatch| {
            let [left, right] = [left, right].map(|inverse| inverse.get(&ledger.counts, microbatch));
            left.zip(right).is_none_or(|(left, right)| same(left, right))
        }),
    }
}

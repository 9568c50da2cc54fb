//! The recipes on the windows where a mean of means drifts most.
use super::choice::Plan;
use super::choice::Planned;
use super::drift::Drift;
use super::execute::Settings;
use super::interpret::Gradient;
use super::interpret::Interpreter;
use super::interpret::Seen;
use super::recipes::Recipe;
use super::reference::Reference;
use super::script::Script;
use super::trace::Counterexample;
use super::trace::RecipeTrace;
use super::trace::WindowMismatch;
use super::window::furthest_weights;
use crate::manifest::event::Outcome;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Windows on which every recipe is executed.
const WINDOWS: usize = 3;

/// Bytes of microbatch gradients that are kept so that recipes can share them.
const SHARED: usize = 256 << 20;

/// The worst windows of a plan, each with its reference and the window before it.
#[derive(Debug)]
pub struct Worst {
    /// By window index.
    windows: BTreeMap<u64, Option<Arranged>>,
    before: Option<(Arc<Script>, Reference)>,
}

#[derive(Clone, Debug)]
struct Arranged {
    script: Script,
    reference: Reference,
    before: Option<(Script, Reference)>,
}

impl Worst {
    /// Chooses: judged, applied, with the largest relative drift of a mean of means; of equals the first.
    pub fn of(plan: &Plan) -> Self {
        let judged = plan.windows.iter().filter(|planned| planned.is_judged);
        let mut applied: Vec<&Script> =
            judged.map(|planned| &*planned.script).filter(|script| script.outcome == Some(Outcome::Applied)).collect();
        applied.sort_by(|a, b| b.mean_of_means.total_cmp(&a.mean_of_means).then(a.window.cmp(&b.window)));
        let windows = applied.iter().take(WINDOWS).map(|script| (script.window, None)).collect();
        Worst { windows, before: None }
    }

    /// Targets that the recipes go through: every chosen window once to share its gradients, and once for each recipe.
    pub fn targets(&self, plan: &Plan, recipes: &[Recipe]) -> u64 {
        let chosen = plan.windows.iter().filter(|planned| self.windows.contains_key(&planned.script.window));
        chosen.map(|planned| planned.script.targets() * (1 + recipes.len() as u64)).sum()
    }

    /// Takes down what is needed of a window once its reference is known.
    pub fn observe(&mut self, planned: &Planned, reference: &Reference) {
        if let Some(slot) = self.windows.get_mut(&planned.script.window)
            && planned.is_judged
        {
            let before = self.before.take().filter(|_| planned.follows);
            *slot = Some(Arranged {
                script: planned.script.as_declared(),
                reference: reference.clone(),
                before: before.map(|(script, reference)| (script.as_declared(), reference)),
            });
        }
        self.before = Some((Arc::clone(&planned.script), reference.clone()));
    }

    /// Passes over a window of which nothing is known.
    pub fn skip(&mut self) {
        self.before = None;
    }

    /// Executes every recipe on every window; each is given where its gradient drifts most. What could not be run again
    /// is told, and so is each window's number of targets whenever one pass over them is done.
    pub fn counterexamples(
        self,
        settings: Settings<'_>,
        mismatches: &mut Vec<WindowMismatch>,
        mut executed: impl FnMut(u64),
    ) -> Vec<Counterexample> {
        let mut found: BTreeMap<Recipe, Counterexample> = BTreeMap::new();
        for arranged in self.windows.into_values().flatten() {
            let mut refused = |seen: &[Seen]| mismatches.extend(WindowMismatch::of(arranged.script.window, seen));
            let targets = arranged.script.targets();
            let shared = arranged.gradients(settings, &mut refused);
            executed(targets);
            for &recipe in settings.recipes {
                let drift = arranged.drift(recipe, settings, &shared, &mut refused);
                executed(targets);
                let Some(drift) = drift else { continue };
                let counterexample = Counterexample { recipe, window: arranged.script.window, drift };
                let further = |other: &Counterexample| drift.gradient.relative() > other.drift.gradient.relative();
                if found.get(&recipe).is_none_or(further) {
                    found.insert(recipe, counterexample);
                }
            }
        }
        found.into_values().collect()
    }
}

impl Arranged {
    /// Every microbatch's gradient at the window's beginning, where they are few enough to be kept.
    fn gradients(&self, settings: Settings<'_>, refused: &mut impl FnMut(&[Seen])) -> BTreeMap<(usize, u64), Gradient> {
        let bytes = size_of_val(settings.machine.initial().parameters.values());
        let mut shared = BTreeMap::new();
        if self.script.passes().count().saturating_mul(bytes) <= SHARED {
            let mut interpreter = Interpreter::new(settings.machine, settings.ranks, settings.reduction);
            interpreter.set_states(&self.reference.before);
            let seen = interpreter.window(&self.script, |contribution| {
                let gradient = Gradient { seed: contribution.seed, values: contribution.gradient.clone() };
                shared.insert((contribution.rank, contribution.pass.index), gradient);
            });
            refused(&seen);
        }
        shared
    }

    /// What the recipe does; `None` where it cannot differ, its gradient overflows or could not be run again.
    fn drift(
        &self,
        recipe: Recipe,
        settings: Settings<'_>,
        shared: &BTreeMap<(usize, u64), Gradient>,
        refused: &mut impl FnMut(&[Seen]),
    ) -> Option<RecipeTrace> {
        let full = self.reference.gradient.as_ref()?;
        if recipe == Recipe::RepartitionedDropout && settings.machine.dropout() == 0.0 {
            return None;
        }
        let script = recipe.rewrite(&self.script)?;
        let mut interpreter = Interpreter::new(settings.machine, settings.ranks, settings.reduction);
        interpreter.sweep(recipe.sweep());
        if recipe.begins_before() {
            let (before, reference) = self.before.as_ref()?;
            interpreter.set_states(&reference.before);
            refused(&interpreter.window(&recipe.rewrite_before(before), |_| {}));
        }
        interpreter.set_states(&self.reference.before);
        interpreter.share(shared);
        let seen = interpreter.window(&script, |_| {});
        refused(&seen);
        let own = seen.iter().filter(|seen| seen.steps > 0).map(|seen| Drift::between(&seen.consumed, &full.consumed));
        let gradient = own.reduce(|worst, drift| if drift.exceeds(&worst) { drift } else { worst })?;
        let (_, weights) = furthest_weights(interpreter.states(), &self.reference.after);
        Some(RecipeTrace { gradient, weights })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autograd::gradients::Reduction;
    use crate::numeric::tolerance::Tolerance;
    use crate::replay::execute::execute;
    use crate::replay::machine::tests::small;
    use crate::replay::script::tests::script;

    fn planned(window: u64, targets: &[u64], drift: f64) -> Planned {
        let script = Script { mean_of_means: drift, ..script(window, targets) };
        Planned { script: Arc::new(script), is_judged: true, follows: true }
    }

    #[test]
    fn the_worst_are_judged_and_applied() {
        let mut windows: Vec<Planned> =
            [0.1, 0.9, 0.8, 0.2, 0.1, 0.3].iter().zip(0..).map(|(&drift, at)| planned(at, &[3, 6], drift)).collect();
        windows[1].is_judged = false;
        Arc::make_mut(&mut windows[2].script).outcome = Some(Outcome::Skipped);
        let worst = Worst::of(&Plan { windows, ..Plan::default() });
        assert_eq!(worst.windows.into_keys().collect::<Vec<_>>(), [0, 3, 5], "of equals the first");
    }

    #[test]
    fn a_recipe_is_given_where_it_drifts_most() {
        let windows = vec![planned(0, &[4, 5], 0.1), planned(1, &[1, 11], 0.3), planned(2, &[3, 6], 0.2)];
        let machine = small();
        let settings = Settings {
            machine: &machine,
            ranks: 1,
            reduction: Reduction::Mean,
            tolerance: Tolerance::new(1e-9, 1e-6).expect("a tolerance"),
            recipes: &[Recipe::MeanOfMeans],
            threads: 1,
        };
        let trace = execute(settings, &Plan { windows, ..Plan::default() }, |_, _| {});
        let drift = |window: usize| trace.windows[window].mean_of_means.and_then(|means| means.gradient.relative());
        assert!(drift(1) > drift(0) && drift(1) > drift(2));
        let [found] = &trace.counterexamples[..] else { panic!("one recipe") };
        assert_eq!(found.window, 1);
        let means = trace.windows[1].mean_of_means.expect("means");
        let close =
            |a: Drift, b: Drift| a.relative().zip(b.relative()).is_some_and(|(a, b)| (a / b - 1.0).abs() < 1e-9);
        assert!(close(found.drift.gradient, means.gradient) && close(found.drift.weights, means.weights));
    }
}

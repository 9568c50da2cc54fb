//! One window of the run beside the full batch.
use super::drift::Drift;
use super::interpret::Contribution;
use super::interpret::Interpreter;
use super::interpret::Seen;
use super::machine::Machine;
use super::machine::State;
use super::recipes::Recipe;
use super::reference::FullGradient;
use super::reference::Reference;
use super::script::Script;
use super::trace::GradientTrace;
use super::trace::RecipeTrace;
use super::trace::WindowTrace;
use crate::autograd::gradients::Gradients;
use crate::autograd::gradients::Reduction;
use crate::autograd::recompute::Mismatch;
use crate::manifest::event::Outcome;
use crate::numeric::tolerance::Tolerance;
use crate::optimizer::Optimizer;
use crate::optimizer::clip::global_norm;

/// The run, window by window, each beginning with the full batch's state.
#[derive(Debug)]
pub struct Comparison<'a> {
    machine: &'a Machine,
    reduction: Reduction,
    run: Interpreter<'a>,
    sums: Sums,
    tolerance: Tolerance,
}

/// Unscaled gradients that are sums of the run's microbatches with other weights: gradients are linear in them.
#[derive(Debug)]
struct Sums {
    /// With the declared weights: what the additions' order alone changes.
    declared: Gradients,
    /// With those of a mean of means.
    means: Gradients,
    has_means: bool,
}

impl<'a> Comparison<'a> {
    /// Before the first window.
    pub fn new(machine: &'a Machine, ranks: usize, reduction: Reduction, tolerance: Tolerance) -> Self {
        let zeros = Gradients::zeros(&machine.initial().parameters);
        Comparison {
            machine,
            reduction,
            run: Interpreter::new(machine, ranks, reduction),
            sums: Sums { declared: zeros.clone(), means: zeros, has_means: false },
            tolerance,
        }
    }

    /// Executes a window and compares; `follows` says that the window before it was executed before it.
    ///
    /// # Errors
    /// [`Mismatch`]: something that was run again did not come out the same, so that nothing can be said of the window.
    pub fn window(&mut self, script: &Script, follows: bool, reference: &Reference) -> Result<WindowTrace, Mismatch> {
        if !follows {
            self.run.clear();
        }
        self.run.set_states(&reference.before);
        self.sums.begin();
        let mut declared_alone = vec![];
        let seen = if script.has_one_point() {
            self.run.window(script, |contribution| self.sums.add(script, contribution))
        } else {
            // A step inside the window moved the parameters: its later gradients are of another point.
            let declared = script.as_declared();
            let mut alone = Interpreter::new(self.machine, self.run.states().len(), self.reduction);
            alone.set_states(&reference.before);
            declared_alone = alone.window(&declared, |contribution| self.sums.add(&declared, contribution));
            self.run.window(script, |_| {})
        };
        let refused = seen.iter().chain(&declared_alone).find_map(|seen| seen.mismatch.clone());
        match reference.mismatch.clone().or(refused) {
            Some(mismatch) => Err(mismatch),
            None => Ok(self.trace(script, reference, &seen)),
        }
    }

    fn trace(&self, script: &Script, reference: &Reference, seen: &[Seen]) -> WindowTrace {
        let states = self.run.states();
        let outcome = script.outcome.unwrap_or(Outcome::Skipped);
        let expected = u64::from(outcome == Outcome::Applied);
        let steps = seen.iter().map(|seen| seen.steps).max_by_key(|steps| steps.abs_diff(expected)).unwrap_or(0);
        let gradient = reference.gradient.as_ref().and_then(|full| furthest(seen, full));
        let (rank, weights) = furthest_weights(states, &reference.after);
        let moved = seen.iter().find(|seen| seen.steps > 0);
        let (floor, mean_of_means) = match &reference.gradient {
            Some(full) => {
                let clipped = |sum: &Gradients| {
                    let mut clipped = sum.clone();
                    clipped.scale(script.declared.clip);
                    clipped
                };
                let floor = Drift::between(clipped(&self.sums.declared).values(), &full.consumed);
                let means = self.sums.has_means.then(|| clipped(&self.sums.means));
                (Some(floor), means.and_then(|means| stepped(&means, script, full, reference)))
            }
            None => (None, None),
        };
        let root = (reference.after.parameters.values().len() as f64).sqrt();
        let [norm, floor_l2] = floor.map_or([0.0; 2], |floor| [floor.reference, floor.l2]);
        let at = gradient.as_ref().map_or(rank, |gradient| gradient.rank);
        WindowTrace {
            window: script.window,
            place: script.settled[at].map(|event| (at as u64, event)),
            targets: script.targets(),
            outcome,
            gradient,
            allowed: self.tolerance.absolute() * root + self.tolerance.relative() * norm + floor_l2,
            floor: floor.map(|floor| floor.l2),
            moments: moments(&states[rank].optimizer, &reference.after.optimizer),
            weights,
            steps: [steps, expected],
            learning_rate: moved.map(|seen| [seen.learning_rate, script.declared.learning_rate]),
            scale: script.scale,
            ranks_apart: ranks_apart(states),
            mean_of_means,
            is_control: is_control(script),
            overflowed: reference.overflowed || seen.iter().any(|seen| seen.overflowed),
            held: states.iter().all(|state| *state == *reference.before),
        }
    }
}

impl Sums {
    fn begin(&mut self) {
        self.declared.clear();
        self.means.clear();
        self.has_means = true;
    }

    fn add(&mut self, script: &Script, contribution: Contribution<'_>) {
        let Contribution { rank, pass, seed, gradient } = contribution;
        let reduced = script.declared.counts.reduction as f64 * seed;
        self.declared.add_scaled(pass.declared / reduced, gradient);
        match Recipe::MeanOfMeans.weight(rank as u64, pass, &script.declared) {
            Some(weight) => self.means.add_scaled(weight / reduced, gradient),
            None => self.has_means = false,
        }
    }
}

/// Gradient and weights of a recipe whose consumed gradient is known.
fn stepped(consumed: &Gradients, script: &Script, full: &FullGradient, reference: &Reference) -> Option<RecipeTrace> {
    let mut state = (*reference.before).clone();
    let State { parameters, optimizer } = &mut state;
    optimizer.step(script.declared.learning_rate, parameters.values_mut(), consumed.values()).ok()?;
    Some(RecipeTrace {
        gradient: Drift::between(consumed.values(), &full.consumed),
        weights: Drift::between(state.parameters.values(), reference.after.parameters.values()),
    })
}

/// The rank whose consumed gradient is furthest off; ranks with the same bits as rank 0 are not compared again.
fn furthest(seen: &[Seen], full: &FullGradient) -> Option<GradientTrace> {
    let mut worst: Option<GradientTrace> = None;
    for (rank, own) in seen.iter().enumerate().filter(|(_, seen)| seen.steps > 0) {
        if rank > 0 && own.consumed == seen[0].consumed {
            continue;
        }
        let consumed = Drift::between(&own.consumed, &full.consumed);
        if worst.as_ref().is_none_or(|worst| consumed.exceeds(&worst.consumed)) {
            let (scaled, unscaled) =
                (Drift::between(&own.scaled, &full.scaled), Drift::between(&own.unscaled, &full.unscaled));
            let norm = [global_norm(&own.unscaled), unscaled.reference];
            worst = Some(GradientTrace { rank, scaled, unscaled, consumed, norm });
        }
    }
    worst
}

/// The rank whose weights are furthest from these.
pub(super) fn furthest_weights(states: &[State], reference: &State) -> (usize, Drift) {
    let drift = |state: &State| Drift::between(state.parameters.values(), reference.parameters.values());
    let mut worst = (0, drift(&states[0]));
    for (rank, state) in states.iter().enumerate().skip(1) {
        if state.parameters.values() != states[0].parameters.values() {
            let drift = drift(state);
            if drift.exceeds(&worst.1) {
                worst = (rank, drift);
            }
        }
    }
    worst
}

/// How far the ranks' weights are from rank 0's at most.
pub(super) fn ranks_apart(states: &[State]) -> Option<f64> {
    let (first, others) = states.split_first()?;
    let apart = |state: &State| {
        if state.parameters.values() == first.parameters.values() {
            return 0.0;
        }
        Drift::between(state.parameters.values(), first.parameters.values()).l2
    };
    (!others.is_empty()).then(|| others.iter().map(apart).fold(0.0, f64::max))
}

fn moments(run: &Optimizer, reference: &Optimizer) -> Vec<Drift> {
    match (run, reference) {
        (Optimizer::AdamW(run), Optimizer::AdamW(reference)) => vec![
            Drift::between(&run.state().first, &reference.state().first),
            Drift::between(&run.state().second, &reference.state().second),
        ],
        (Optimizer::Sgd(run), Optimizer::Sgd(reference)) => {
            vec![Drift::between(&run.state().momentum, &reference.state().momentum)]
        }
        _ => unreachable!("bug: run and reference have two kinds of optimizer"),
    }
}

/// Whether a mean of means gives every microbatch of the window its declared weight, up to rounding.
fn is_control(script: &Script) -> bool {
    script.passes().all(|(rank, pass)| {
        let weight = Recipe::MeanOfMeans.weight(rank, pass, &script.declared);
        weight.is_some_and(|weight| (weight - pass.declared).abs() <= 4.0 * f64::EPSILON * pass.declared)
    })
}

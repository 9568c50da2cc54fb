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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::machine::tests::small;
    use crate::replay::reference::FullBatch;
    use crate::replay::script::Op;
    use crate::replay::script::tests::script;
    use crate::replay::script::tests::scripts;

    /// Windows in a row, of which each follows the one before it or not.
    fn compared(windows: &[(Script, bool)], tolerance: Tolerance) -> Vec<WindowTrace> {
        let machine = small();
        let mut comparison = Comparison::new(&machine, windows[0].0.ranks.len(), Reduction::Mean, tolerance);
        let mut full = FullBatch::new(&machine);
        let each = windows.iter().map(|(script, follows)| comparison.window(script, *follows, &full.window(script)));
        each.collect::<Result<_, _>>().expect("nothing is run again")
    }

    fn tolerance() -> Tolerance {
        Tolerance::new(1e-9, 1e-6).expect("a tolerance")
    }

    fn alone(script: Script) -> WindowTrace {
        compared(&[(script, true)], tolerance()).remove(0)
    }

    #[test]
    fn what_is_shown_is_of_the_rank_that_is_furthest_off() {
        let mut window = scripts(0, &[&[3, 6], &[1, 2], &[4, 4]]);
        window.settled = vec![Some(10), Some(11), Some(12)];
        window.ranks[1].insert(2, Op::Rescale(-2.0));
        let trace = alone(window);
        let gradient = trace.gradient.expect("a gradient");
        assert_eq!((gradient.rank, trace.place), (1, Some((1, 11))));
        assert!((gradient.consumed.relative().expect("a reference") - 3.0).abs() < 1e-9);
        assert!(trace.moments.iter().all(|moment| moment.relative().expect("moments") > 0.5), "{:?}", trace.moments);
        let apart = trace.ranks_apart.expect("three ranks") / trace.weights.l2;
        assert!((apart - 1.0).abs() < 1e-6, "{apart}");
        assert!(!trace.agrees() && !trace.held);
    }

    #[test]
    fn what_is_allowed_grows_with_parameters_gradient_and_floor() {
        let trace = alone(scripts(0, &[&[3, 6, 5], &[1, 2, 7]]));
        let root = (small().initial().parameters.values().len() as f64).sqrt();
        let reference = trace.gradient.expect("a gradient").consumed.reference;
        assert_eq!(trace.allowed, 1e-9 * root + 1e-6 * reference + trace.floor.expect("a floor"));
    }

    #[test]
    fn the_bound_itself_agrees_and_another_number_of_steps_does_not() {
        let trace = alone(script(0, &[3, 6]));
        let l2 = trace.gradient.expect("a gradient").consumed.l2;
        assert!(WindowTrace { allowed: l2, ..trace.clone() }.agrees());
        assert!(!WindowTrace { allowed: l2.next_down(), ..trace.clone() }.agrees());
        assert!(!WindowTrace { steps: [2, 1], ..trace.clone() }.agrees());
        assert!(WindowTrace { steps: [2, 1], overflowed: true, ..trace }.agrees());
    }

    #[test]
    fn steps_and_rate_are_the_runs_own() {
        let mut window = scripts(0, &[&[3, 6], &[1, 2]]);
        for ops in &mut window.ranks {
            let Op::Step(step) = &mut ops[2] else { panic!("a step") };
            step.learning_rate = 0.02;
        }
        let step = window.ranks[1][2];
        window.ranks[1].insert(3, step);
        let trace = alone(window);
        assert_eq!((trace.steps, trace.learning_rate), ([2, 1], Some([0.02, 0.01])));
    }

    #[test]
    fn a_window_is_held_where_no_rank_moved() {
        let mut window = scripts(0, &[&[3, 6], &[1, 2]]);
        window.ranks[0].remove(2);
        assert!(!alone(window.clone()).held, "rank 1 stepped");
        window.ranks[1].remove(2);
        assert!(alone(window).held);
    }

    #[test]
    fn the_floor_is_the_declared_windows_whatever_the_run_did() {
        let mut clipped = script(0, &[3, 6, 5]);
        clipped.declared.clip = 0.5;
        let stepped = Recipe::StepPerMicrobatch.rewrite(&script(0, &[3, 6, 5])).expect("three microbatches");
        for window in [clipped.as_declared(), stepped] {
            let trace = alone(window);
            let reference = trace.gradient.expect("a gradient").consumed.reference;
            assert!(trace.floor.expect("a floor") < 1e-12 * reference);
        }
    }

    #[test]
    fn buffers_are_kept_only_for_the_window_that_follows() {
        let mut first = script(0, &[3, 6]);
        first.ranks[0].pop();
        let second = |follows| compared(&[(first.clone(), true), (script(1, &[3, 6]), follows)], tolerance()).remove(1);
        assert!(!second(true).agrees());
        assert!(second(false).agrees());
    }
}

//! The full batch: all of a window's rows in one update under the contract's clock.
use super::machine::Machine;
use super::machine::State;
use super::machine::Sweep;
use super::rows::Batch;
use super::script::Script;
use crate::autograd::arena::Arena;
use crate::autograd::commit::NotCommitted;
use crate::autograd::gradients::Gradients;
use crate::autograd::recompute::Mismatch;
use crate::manifest::event::Outcome;
use std::sync::Arc;

/// What one big batch did in a window.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Parameters and moments before the update.
    pub before: Arc<State>,
    /// The same after it; the very same where there was no update.
    pub after: Arc<State>,
    /// Its gradient; `None` where the window made no update, or the gradient overflowed.
    pub gradient: Option<Arc<FullGradient>>,
    /// Whether the gradient overflowed although the run's update was applied.
    pub overflowed: bool,
    /// A recompute that did not come out the same: the update was not made.
    pub mismatch: Option<Mismatch>,
}

/// The gradient of the full batch.
#[derive(Clone, Debug, PartialEq)]
pub struct FullGradient {
    /// In the loss scale's unit.
    pub scaled: Vec<f64>,
    /// Before it was clipped.
    pub unscaled: Vec<f64>,
    /// As the optimizer consumed it.
    pub consumed: Vec<f64>,
}

/// Makes one update after another.
#[derive(Debug)]
pub struct FullBatch<'a> {
    machine: &'a Machine,
    state: Arc<State>,
    gradients: Gradients,
    arena: Arena,
}

impl<'a> FullBatch<'a> {
    /// Before the first window.
    pub fn new(machine: &'a Machine) -> Self {
        let gradients = Gradients::zeros(&machine.initial().parameters);
        FullBatch { machine, state: Arc::new(machine.initial().clone()), gradients, arena: Arena::default() }
    }

    /// The next window's update; none where the run made none.
    pub fn window(&mut self, script: &Script) -> Reference {
        let before = Arc::clone(&self.state);
        let idle = |overflowed, mismatch| Reference {
            before: Arc::clone(&before),
            after: Arc::clone(&before),
            gradient: None,
            overflowed,
            mismatch,
        };
        if script.outcome != Some(Outcome::Applied) {
            return idle(false, None);
        }
        match self.backward(script) {
            Ok(()) => {}
            Err(NotCommitted::Overflow(_)) => return idle(true, None),
            Err(NotCommitted::Recompute(mismatch)) => return idle(false, Some(mismatch)),
        }
        let declared = &script.declared;
        let scaled = self.gradients.values().to_vec();
        self.gradients.divide(declared.loss_scale);
        let unscaled = self.gradients.values().to_vec();
        self.gradients.scale(declared.clip);
        let mut state = (*before).clone();
        let State { parameters, optimizer } = &mut state;
        let step = optimizer.step(declared.learning_rate, parameters.values_mut(), self.gradients.values());
        if step.is_err() {
            return idle(true, None);
        }
        self.state = Arc::new(state);
        let consumed = self.gradients.values().to_vec();
        let gradient = Some(Arc::new(FullGradient { scaled, unscaled, consumed }));
        Reference { before, after: Arc::clone(&self.state), gradient, overflowed: false, mismatch: None }
    }

    /// The scaled gradient of all rows. Microbatches of one weight go through together.
    fn backward(&mut self, script: &Script) -> Result<(), NotCommitted> {
        self.gradients.clear();
        let passes: Vec<_> = script.passes().filter(|(_, pass)| pass.valid_targets > 0).collect();
        let reduction = script.declared.counts.reduction as f64;
        passes.chunk_by(|(_, a), (_, b)| a.declared == b.declared).try_for_each(|group| {
            let seed = script.declared.loss_scale * (group[0].1.declared / reduction);
            let batches = group.iter().map(|(rank, pass)| Batch {
                window: script.window,
                rank: *rank,
                index: pass.index,
                targets: pass.valid_targets,
            });
            let (gradients, arena) = (&mut self.gradients, &mut self.arena);
            self.machine.backward(&self.state.parameters, batches, seed, Sweep::Adding, gradients, arena)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autograd::gradients::Reduction;
    use crate::replay::drift::Drift;
    use crate::replay::interpret::Interpreter;
    use crate::replay::machine::tests::small;
    use crate::replay::script::Op;
    use crate::replay::script::tests::script;

    #[test]
    fn updates_follow_each_other_with_moments_and_their_own_rates() {
        let machine = small();
        let mut full = FullBatch::new(&machine);
        let mut state = machine.initial().clone();
        for (window, rate) in [(0, 0.01), (1, 0.003)] {
            let mut script = script(window, &[3, 6]);
            script.declared.learning_rate = rate;
            let made = full.window(&script);
            assert_eq!(*made.before, state);
            let State { parameters, optimizer } = &mut state;
            let gradient = made.gradient.expect("an update");
            optimizer.step(rate, parameters.values_mut(), &gradient.consumed).expect("finite");
            assert_eq!(*made.after, state);
        }
    }

    #[test]
    fn each_microbatch_has_its_declared_weight() {
        let mut window = script(0, &[3, 6, 2]);
        for op in &mut window.ranks[0] {
            if let Op::Backward(pass) = op {
                pass.declared *= 1.0 + pass.index as f64;
            }
        }
        let window = window.as_declared();
        let machine = small();
        let full = FullBatch::new(&machine).window(&window).gradient.expect("an update");
        let own = Interpreter::new(&machine, 1, Reduction::Mean).window(&window, |_| {});
        assert!(Drift::between(&own[0].consumed, &full.consumed).relative().is_some_and(|relative| relative < 1e-12));
    }
}

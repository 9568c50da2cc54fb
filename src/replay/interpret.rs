//! Executes scripts: each rank's operations in order, all ranks of a window in step.
//!
//! Nothing is a special case here. An early unscale, a clip after each microbatch, a missing clearing, a second step are
//! executed where they stand, and what comes of them is what the optimizer consumed.
use super::machine::Machine;
use super::machine::State;
use super::machine::Sweep;
use super::rows::Batch;
use super::script::Op;
use super::script::Pass;
use super::script::Script;
use super::script::Step;
use crate::autograd::arena::Arena;
use crate::autograd::commit::NotCommitted;
use crate::autograd::gradients::Gradients;
use crate::autograd::gradients::Reduction;
use crate::autograd::gradients::all_reduce;
use crate::autograd::recompute::Mismatch;
use crate::manifest::event::Outcome;
use std::collections::BTreeMap;

/// Ranks that execute scripts, with what they keep from window to window.
#[derive(Debug)]
pub struct Interpreter<'a> {
    machine: &'a Machine,
    reduction: Reduction,
    ranks: Vec<State>,
    buffers: Vec<Gradients>,
    /// By rank: whether something nonfinite was added to the buffers since they were cleared.
    poisoned: Vec<bool>,
    /// By rank: whether its parameters moved since they were last set.
    moved: Vec<bool>,
    /// Gradients of microbatches at the parameters that were set, by rank and index.
    shared: Option<&'a BTreeMap<(usize, u64), Gradient>>,
    sweep: Sweep,
    /// One microbatch's gradient.
    own: Gradients,
    arena: Arena,
}

/// A microbatch's gradient that several executions share.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// What the gradient of the summed loss is multiplied by in it; not 0.
    pub seed: f64,
    /// `seed` times that gradient.
    pub values: Gradients,
}

/// What the optimizer of one rank was given in a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// The gradient as the last backward and its all-reduce left it, in the loss scale's unit.
    pub scaled: Vec<f64>,
    /// Before it was clipped.
    pub unscaled: Vec<f64>,
    /// As the last step that moved the weights consumed it.
    pub consumed: Vec<f64>,
    /// Steps that moved the weights.
    pub steps: u64,
    /// The rate of the last of them.
    pub learning_rate: f64,
    /// Whether a step was to move the weights and found something nonfinite, or lacked a gradient that was refused.
    pub overflowed: bool,
    /// The first recompute that did not come out the same. Its gradient was not added, and no step is made with the rest.
    pub mismatch: Option<Mismatch>,
}

/// One microbatch's gradient on its way into a rank's buffers: `seed` times that of its summed loss.
#[derive(Clone, Copy, Debug)]
pub struct Contribution<'a> {
    /// The rank.
    pub rank: usize,
    /// The microbatch.
    pub pass: &'a Pass,
    /// S·f.
    pub seed: f64,
    /// `seed` times the gradient of the summed loss.
    pub gradient: &'a Gradients,
}

/// A rank on its way through a window.
#[derive(Default)]
struct Cursor {
    next: usize,
    last_backward: usize,
    waits: bool,
    seen: Seen,
    /// Whether it clipped after its last backward.
    clipped: bool,
}

impl<'a> Interpreter<'a> {
    /// `ranks` ranks in the machine's initial state, with clear buffers.
    pub fn new(machine: &'a Machine, ranks: usize, reduction: Reduction) -> Self {
        let zeros = Gradients::zeros(&machine.initial().parameters);
        Interpreter {
            machine,
            reduction,
            ranks: vec![machine.initial().clone(); ranks],
            buffers: vec![zeros.clone(); ranks],
            poisoned: vec![false; ranks],
            moved: vec![false; ranks],
            shared: None,
            sweep: Sweep::Adding,
            own: zeros,
            arena: Arena::default(),
        }
    }

    /// Each rank's state.
    pub fn states(&self) -> &[State] {
        &self.ranks
    }

    /// Gives every rank the same parameters and moments. Gradient buffers stay as they are.
    pub fn set_states(&mut self, state: &State) {
        self.ranks.iter_mut().for_each(|rank| rank.clone_from(state));
        self.moved.fill(false);
    }

    /// From now on takes gradients from these as long as the parameters are those that were set: they are linear in
    /// the seed.
    pub fn share(&mut self, gradients: &'a BTreeMap<(usize, u64), Gradient>) {
        self.shared = Some(gradients);
    }

    /// From now on sweeps back in this way.
    pub fn sweep(&mut self, sweep: Sweep) {
        self.sweep = sweep;
    }

    /// Clears every rank's buffers.
    pub fn clear(&mut self) {
        (0..self.ranks.len()).for_each(|rank| self.zero(rank));
    }

    /// Executes a window; `watch` is shown every microbatch's gradient. Gives what each rank's optimizer saw.
    pub fn window(&mut self, script: &Script, mut watch: impl FnMut(Contribution<'_>)) -> Vec<Seen> {
        let cursor = |ops: &Vec<Op>| Cursor {
            last_backward: ops.iter().rposition(|op| matches!(op, Op::Backward(_))).unwrap_or(0),
            ..Cursor::default()
        };
        let mut cursors: Vec<Cursor> = script.ranks.iter().map(cursor).collect();
        loop {
            for (rank, cursor) in cursors.iter_mut().enumerate() {
                self.advance(rank, script, cursor, &mut watch);
            }
            let waiting = cursors.iter().filter(|cursor| cursor.waits).count();
            if waiting == 0 {
                break;
            }
            // A collective that some rank never joins does not come about: the others go on with what they have.
            if waiting == cursors.len() {
                self.reduce();
            }
            cursors.iter_mut().for_each(|cursor| cursor.waits = false);
        }
        cursors.into_iter().map(|cursor| cursor.seen).collect()
    }

    /// Executes a rank up to its next all-reduce, or to the end.
    fn advance(&mut self, rank: usize, script: &Script, cursor: &mut Cursor, watch: &mut impl FnMut(Contribution<'_>)) {
        let ops = &script.ranks[rank];
        while let Some(op) = ops.get(cursor.next).filter(|_| !cursor.waits) {
            if cursor.next > cursor.last_backward && cursor.seen.scaled.is_empty() && consumes(op) {
                cursor.seen.scaled.extend_from_slice(self.buffers[rank].values());
            }
            match op {
                Op::ZeroGrad => self.zero(rank),
                Op::Backward(pass) => {
                    self.backward(rank, script.window, pass, cursor, watch);
                    cursor.waits = pass.syncs;
                }
                Op::Rescale(factor) => self.buffers[rank].scale(*factor),
                Op::Unscale(scale) => self.buffers[rank].divide(*scale),
                Op::Clip(coefficient) => {
                    if cursor.next > cursor.last_backward && !cursor.clipped {
                        cursor.clipped = true;
                        cursor.seen.unscaled = self.buffers[rank].values().to_vec();
                    }
                    self.buffers[rank].scale(*coefficient);
                }
                Op::Step(step) => self.step(rank, step, cursor),
            }
            cursor.next += 1;
        }
    }

    fn zero(&mut self, rank: usize) {
        self.buffers[rank].clear();
        self.poisoned[rank] = false;
    }

    fn backward(
        &mut self,
        rank: usize,
        window: u64,
        pass: &Pass,
        cursor: &mut Cursor,
        watch: &mut impl FnMut(Contribution<'_>),
    ) {
        if pass.overflows {
            // What a cotangent that is not finite does to every gradient that it reaches.
            self.poisoned[rank] = true;
            return;
        }
        if pass.valid_targets == 0 {
            return;
        }
        // A weight of 0 is no reason not to know the gradient that it was the weight of.
        let seed = pass.loss_scale * if pass.weight == 0.0 { pass.declared } else { pass.weight };
        if let Err(not_committed) = self.differentiate(rank, window, pass, seed) {
            self.poisoned[rank] = true;
            if let NotCommitted::Recompute(mismatch) = not_committed {
                cursor.seen.mismatch.get_or_insert(mismatch);
            }
            return;
        }
        watch(Contribution { rank, pass, seed, gradient: &self.own });
        if pass.weight != 0.0 {
            self.buffers[rank].add_scaled(1.0, &self.own);
            self.poisoned[rank] |= !self.buffers[rank].is_finite();
        }
    }

    /// Makes `own` the gradient of the microbatch's summed loss times `seed`.
    fn differentiate(&mut self, rank: usize, window: u64, pass: &Pass, seed: f64) -> Result<(), NotCommitted> {
        self.own.clear();
        let shared = self.shared.filter(|_| !self.moved[rank] && self.sweep == Sweep::Adding);
        if let Some(gradient) = shared.and_then(|shared| shared.get(&(rank, pass.index))) {
            self.own.add_scaled(seed / gradient.seed, &gradient.values);
            return Ok(());
        }
        let batch = Batch { window, rank: rank as u64, index: pass.index, targets: pass.valid_targets };
        let parameters = &self.ranks[rank].parameters;
        self.machine.backward(parameters, [batch], seed, self.sweep, &mut self.own, &mut self.arena)
    }

    fn reduce(&mut self) {
        all_reduce(&mut self.buffers, self.reduction);
        let any = self.poisoned.iter().any(|poisoned| *poisoned);
        self.poisoned.fill(any);
    }

    fn step(&mut self, rank: usize, step: &Step, cursor: &mut Cursor) {
        let buffer = &mut self.buffers[rank];
        if step.unscales != 1.0 {
            buffer.divide(step.unscales);
            cursor.seen.unscaled.iter_mut().for_each(|x| *x /= step.unscales);
        }
        if step.outcome == Outcome::Skipped {
            return;
        }
        if !cursor.clipped {
            cursor.seen.unscaled.clear();
            cursor.seen.unscaled.extend_from_slice(buffer.values());
        }
        let State { parameters, optimizer } = &mut self.ranks[rank];
        if self.poisoned[rank] || optimizer.step(step.learning_rate, parameters.values_mut(), buffer.values()).is_err()
        {
            cursor.seen.overflowed = true;
            return;
        }
        self.moved[rank] = true;
        cursor.seen.consumed.clear();
        cursor.seen.consumed.extend_from_slice(buffer.values());
        cursor.seen.steps += 1;
        cursor.seen.learning_rate = step.learning_rate;
    }
}

/// Whether an operation does something with the finished gradient.
fn consumes(op: &Op) -> bool {
    matches!(op, Op::Unscale(_) | Op::Clip(_) | Op::Step(_))
}

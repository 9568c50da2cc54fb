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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::drift::Drift;
    use crate::replay::machine::tests::small;
    use crate::replay::script::tests::script;
    use crate::replay::script::tests::scripts;

    fn seen(script: &Script) -> Vec<Seen> {
        Interpreter::new(&small(), script.ranks.len(), Reduction::Mean).window(script, |_| {})
    }

    fn close(a: &[f64], b: &[f64]) -> bool {
        Drift::between(a, b).relative().is_some_and(|relative| relative < 1e-12)
    }

    fn with_passes(script: &Script, change: impl Fn(&mut Pass)) -> Script {
        let mut changed = script.clone();
        for op in changed.ranks.iter_mut().flatten() {
            if let Op::Backward(pass) = op {
                change(pass);
            }
        }
        changed
    }

    #[test]
    fn an_overflow_reaches_every_rank_that_reduces_with_it() {
        let mut window = scripts(0, &[&[3, 6], &[1, 2]]);
        let Op::Backward(pass) = &mut window.ranks[1][1] else { panic!("a backward") };
        pass.overflows = true;
        assert!(seen(&window).iter().all(|seen| seen.overflowed && seen.steps == 0));
        let alone = with_passes(&window, |pass| pass.syncs = false);
        assert_eq!(seen(&alone).iter().map(|seen| seen.steps).collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn a_step_that_unscales_is_an_unscale_before_it() {
        let scaled = with_passes(&script(0, &[3, 6]), |pass| pass.loss_scale = 8.0);
        let (mut before, mut inside) = (scaled.clone(), scaled);
        before.ranks[0].splice(2..2, [Op::Unscale(8.0), Op::Clip(0.5)]);
        inside.ranks[0].insert(2, Op::Clip(0.5));
        let Op::Step(step) = &mut inside.ranks[0][3] else { panic!("a step") };
        step.unscales = 8.0;
        let (before, inside) = (&seen(&before)[0], &seen(&inside)[0]);
        assert_eq!(
            (&before.consumed, &before.unscaled, &before.scaled),
            (&inside.consumed, &inside.unscaled, &inside.scaled)
        );
        assert!(close(&before.unscaled, &seen(&script(0, &[3, 6]))[0].consumed));
    }

    #[test]
    fn before_clipping_is_before_the_first_clip() {
        let mut window = script(0, &[3, 6]);
        let whole = seen(&window)[0].consumed.clone();
        window.ranks[0].splice(2..2, [Op::Clip(0.5), Op::Clip(0.5)]);
        let own = &seen(&window)[0];
        assert_eq!(own.unscaled, whole);
        assert_eq!(own.consumed, whole.iter().map(|x| x * 0.25).collect::<Vec<_>>());
    }

    #[test]
    fn a_skipped_step_moves_nothing() {
        let mut window = script(0, &[3, 6]);
        let Op::Step(step) = &mut window.ranks[0][2] else { panic!("a step") };
        step.outcome = Outcome::Skipped;
        let machine = small();
        let mut run = Interpreter::new(&machine, 1, Reduction::Mean);
        assert_eq!(run.window(&window, |_| {})[0].steps, 0);
        assert_eq!(&run.states()[0], machine.initial());
    }

    #[test]
    fn a_weight_of_nothing_adds_nothing_and_its_gradient_is_known() {
        let mut window = script(0, &[3, 6]);
        let Op::Backward(pass) = &mut window.ranks[0][1] else { panic!("a backward") };
        pass.weight = 0.0;
        let mut first = window.clone();
        first.ranks[0].remove(1);
        let machine = small();
        let mut seeds = vec![];
        let own = Interpreter::new(&machine, 1, Reduction::Mean).window(&window, |each| seeds.push(each.seed));
        assert_eq!(own[0].consumed, seen(&first)[0].consumed);
        assert!(seeds.len() == 2 && seeds[0] == seeds[1] && seeds[0] > 0.0, "{seeds:?}");
    }

    #[test]
    fn shared_gradients_end_where_the_parameters_move() {
        let mut window = script(0, &[3, 6]);
        let step = window.ranks[0][2];
        let machine = small();
        let mut shared = BTreeMap::new();
        Interpreter::new(&machine, 1, Reduction::Mean).window(&window, |each| {
            let gradient = Gradient { seed: each.seed, values: each.gradient.clone() };
            shared.insert((each.rank, each.pass.index), gradient);
        });
        window.ranks[0].insert(1, step);
        let mut run = Interpreter::new(&machine, 1, Reduction::Mean);
        run.share(&shared);
        assert!(close(&run.window(&window, |_| {})[0].consumed, &seen(&window)[0].consumed));
    }
}

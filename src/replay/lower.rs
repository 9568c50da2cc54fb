//! From what was recorded of a window to its script: weights, scales, rates and coefficients resolved, and what nobody
//! observed put where the contract's clock has it.
use super::script::Declared;
use super::script::Obstacle;
use super::script::Op;
use super::script::Pass;
use super::script::ScaleMove;
use super::script::Script;
use super::script::Step;
use crate::canonical::Finite;
use crate::clock::Gradients;
use crate::clock::WindowClock;
use crate::clock::schedule;
use crate::ledger::WindowLedger;
use crate::ledger::microbatch::Microbatch;
use crate::manifest::contract::Contract;
use crate::manifest::contract::LossScale;
use crate::manifest::contract::Optimizer;
use crate::manifest::contract::Synchronize;
use crate::manifest::contract::Unobserved;
use crate::manifest::event::Backward;
use crate::manifest::event::Clip;
use crate::manifest::event::Event;
use crate::manifest::event::Outcome;
use crate::manifest::resume::Resume;
use crate::manifest::window::RankWindow;
use crate::manifest::window::Window;
use crate::optimizer::clip;

/// The rate where neither the run nor the contract has one: `golden/README.md`'s.
pub const DEFAULT_LEARNING_RATE: f64 = 0.01;

/// The least loss scale with which gradients are computed, 2⁻⁵¹²: under much smaller ones they lose the digits that the
/// comparison is about, and what is divided by the scale becomes infinite.
const LEAST_LOSS_SCALE: f64 = f64::from_bits((1023 - 512) << 52);

/// Operations of a rank for each of its microbatches, and as many more, that are held and executed. One after whose every
/// microbatch everything happens that can happen has seven.
const MOST_OPERATIONS: usize = 16;

/// Lowers windows in order; it follows scale and rate through all of them, replayed or not.
#[derive(Clone, Debug)]
pub struct Lowering {
    contract: Contract,
    ranks: Vec<RankState>,
    start: RankState,
}

/// What an event may leave unsaid and an earlier one has said.
#[derive(Clone, Copy, Debug)]
struct RankState {
    /// S in force.
    loss_scale: f64,
    /// The rate in force.
    learning_rate: f64,
}

impl Lowering {
    /// Before the first window.
    pub fn new(contract: &Contract, resume: Option<&Resume>) -> Self {
        let scale = match contract.loss_scale {
            None => 1.0,
            Some(LossScale::Static { value }) => value.get(),
            Some(LossScale::Dynamic { initial, .. }) => initial.get(),
        };
        let rate = match contract.optimizer {
            Some(Optimizer::Adamw { learning_rate, .. } | Optimizer::Sgd { learning_rate, .. }) => learning_rate.get(),
            None => DEFAULT_LEARNING_RATE,
        };
        let scheduled = contract.scheduler.as_ref().and_then(|scheduler| schedule::rate(scheduler, 0));
        let resumed = |field: fn(&Resume) -> Option<Finite>| resume.and_then(field).map(Finite::get);
        let start = RankState {
            loss_scale: resumed(|resume| resume.loss_scale).filter(|_| contract.loss_scale.is_some()).unwrap_or(scale),
            learning_rate: resumed(|resume| resume.learning_rate).or(scheduled).unwrap_or(rate),
        };
        Lowering { contract: contract.clone(), ranks: Vec::new(), start }
    }

    /// The script of the next window.
    pub fn lower(&mut self, window: &Window, ledger: &WindowLedger, clock: &WindowClock) -> Script {
        self.ranks.resize(window.ranks.len(), self.start);
        let scaled = self.contract.loss_scale.is_some();
        let loss_scale = window.ranks.first().and_then(first_scale).filter(|_| scaled);
        let loss_scale = loss_scale.unwrap_or_else(|| self.ranks.first().map_or(1.0, |state| state.loss_scale));
        let outcome = clock.outcome();
        let mut microbatches = ledger.microbatches.as_slice();
        let mut ranks = Vec::with_capacity(window.ranks.len());
        for ((recorded, clock), state) in window.ranks.iter().zip(&clock.ranks).zip(&mut self.ranks) {
            let count = microbatches.iter().take_while(|microbatch| microbatch.rank == recorded.rank).count();
            let (own, rest) = microbatches.split_at(count);
            microbatches = rest;
            let mut lower = RankLowering { contract: &self.contract, state, microbatches: own, ops: Vec::new() };
            if clock.gradients == Gradients::Unknown {
                lower.ops.push(Op::ZeroGrad);
            }
            recorded.events.iter().for_each(|indexed| lower.event(&indexed.event));
            let mut ops = lower.ops;
            imply_weights(&mut ops);
            if outcome == Some(Outcome::Skipped) {
                overflow_somewhere(&mut ops);
            }
            supply(&self.contract, &mut ops, recorded, loss_scale, outcome);
            ranks.push(ops);
        }
        let mut script = Script {
            window: window.window,
            settled: window.ranks.iter().map(settled).collect(),
            declared: self.declared(window, ledger, clock, &ranks, loss_scale),
            ranks,
            outcome,
            is_short: !ledger.is_full(),
            mean_of_means: ledger.mean_of_means.and_then(|means| means.relative_drift).unwrap_or(0.0),
            scale: scale_move(window, clock).filter(|_| scaled),
            obstacle: None,
        };
        script.obstacle = obstacle(&script, ledger);
        script
    }

    fn declared(
        &self,
        window: &Window,
        ledger: &WindowLedger,
        clock: &WindowClock,
        ranks: &[Vec<Op>],
        loss_scale: f64,
    ) -> Declared {
        let used = ranks.iter().flatten().find_map(|op| match op {
            Op::Step(step) if step.outcome == Outcome::Applied => Some(step.learning_rate),
            _ => None,
        });
        let index = clock.ranks.first().and_then(|rank| {
            let of_step = rank.rates.iter().find(|rate| !rate.is_tick);
            of_step.and_then(|rate| rate.indices.first().copied()).or(rank.updates.applied)
        });
        let scheduled = self.contract.scheduler.zip(index);
        let rate = scheduled.and_then(|(scheduler, index)| schedule::rate(&scheduler, index));
        let in_force = self.ranks.first().map_or(DEFAULT_LEARNING_RATE, |state| state.learning_rate);
        // A recorded rate that is the schedule's up to rounding stands for it, so that equal updates stay equal.
        let relative = self.contract.tolerance.relative.get();
        let same = |used: f64, rate: f64| (used - rate).abs() <= relative * rate.abs();
        let learning_rate = match (used, rate) {
            (Some(used), Some(rate)) if !same(used, rate) => rate,
            (Some(used), _) => used,
            (None, Some(rate)) => rate,
            (None, None) => in_force,
        };
        Declared {
            counts: ledger.counts.clone(),
            loss_scale,
            clip: self.declared_clip(window, loss_scale),
            learning_rate,
            schedule: scheduled,
        }
    }

    /// The coefficient of the window's last recorded norm, divided by S first where that was still in it.
    fn declared_clip(&self, window: &Window, loss_scale: f64) -> f64 {
        let (Some(policy), Some(rank)) = (self.contract.clip, window.ranks.first()) else { return 1.0 };
        let mut unscaled = self.contract.loss_scale.is_none();
        let (mut clipped, mut logged) = (None, None);
        for indexed in &rank.events {
            match &indexed.event {
                Event::Unscale(_) => unscaled = true,
                Event::Clip(Clip { norm: Some(norm), .. }) => {
                    let in_norm =
                        if unscaled || !self.contract.observes(Unobserved::Unscale) { 1.0 } else { loss_scale };
                    clipped = Some(norm.get() / in_norm);
                }
                Event::Logged(claim) => logged = claim.grad_norm.map(Finite::get).or(logged),
                _ => {}
            }
        }
        clipped.or(logged).map_or(1.0, |norm| clip::coefficient(norm, policy.max_norm.get()))
    }
}

/// Puts in what nobody could observe.
fn supply(contract: &Contract, ops: &mut Vec<Op>, recorded: &RankWindow, loss_scale: f64, outcome: Option<Outcome>) {
    let hidden = |kind| !contract.observes(kind);
    if hidden(Unobserved::Sync) {
        let each = contract.synchronize == Some(Synchronize::Each);
        let last = ops.iter().rposition(|op| matches!(op, Op::Backward(_)));
        for (at, op) in ops.iter_mut().enumerate() {
            if let Op::Backward(pass) = op {
                pass.syncs = each || Some(at) == last;
            }
        }
    }
    // After the last backward and what belongs to it, before whatever consumes the gradient.
    let mut at = ops.iter().rposition(|op| matches!(op, Op::Backward(_) | Op::Rescale(_))).map_or(0, |at| at + 1);
    let unscaled = |op: &Op| matches!(op, Op::Step(step) if step.unscales != 1.0);
    if contract.loss_scale.is_some() && hidden(Unobserved::Unscale) && !ops.iter().any(unscaled) {
        ops.insert(at, Op::Unscale(loss_scale));
        at += 1;
    }
    if let Some(policy) = contract.clip.filter(|_| hidden(Unobserved::Clip)) {
        let norm = recorded.events.iter().find_map(|indexed| match &indexed.event {
            Event::Logged(logged) => logged.grad_norm,
            _ => None,
        });
        if let Some(norm) = norm {
            ops.insert(at, Op::Clip(clip::coefficient(norm.get(), policy.max_norm.get())));
        }
    }
    if outcome.is_some() && hidden(Unobserved::ZeroGrad) {
        ops.push(Op::ZeroGrad);
    }
}

/// One rank's events of a window on their way into its script.
struct RankLowering<'a> {
    contract: &'a Contract,
    state: &'a mut RankState,
    /// Those of the rank that have not come yet, carried ones included.
    microbatches: &'a [Microbatch],
    ops: Vec<Op>,
}

impl RankLowering<'_> {
    /// Events whose clock the contract does not declare are not executed: they are not judged.
    fn event(&mut self, event: &Event) {
        let scaled = self.contract.loss_scale.is_some();
        match event {
            Event::ZeroGrad if self.contract.observes(Unobserved::ZeroGrad) => self.ops.push(Op::ZeroGrad),
            Event::Backward(backward) => self.backward(backward),
            Event::Rescale(rescale) => self.ops.push(Op::Rescale(rescale.factor.get())),
            Event::Unscale(unscale) if scaled && self.contract.observes(Unobserved::Unscale) => {
                let scale = unscale.loss_scale.map_or(self.state.loss_scale, Finite::get);
                self.ops.push(Op::Unscale(scale));
            }
            Event::Clip(Clip { max_norm, norm: Some(norm), .. })
                if self.contract.clip.is_some() && self.contract.observes(Unobserved::Clip) =>
            {
                self.ops.push(Op::Clip(clip::coefficient(norm.get(), max_norm.get())));
            }
            Event::OptimizerStep(step) => {
                self.state.learning_rate = step.learning_rate.map_or(self.state.learning_rate, Finite::get);
                self.ops.push(Op::Step(Step {
                    outcome: step.outcome,
                    learning_rate: self.state.learning_rate,
                    unscales: step.loss_scale.filter(|_| scaled).map_or(1.0, Finite::get),
                }));
            }
            Event::ScalerUpdate(update) if scaled => self.state.loss_scale = update.loss_scale.get(),
            Event::SchedulerStep(step) => self.state.learning_rate = step.learning_rate.get(),
            Event::Restore(restore) => {
                let RankState { loss_scale, learning_rate } = *self.state;
                self.state.loss_scale = restore.loss_scale.filter(|_| scaled).map_or(loss_scale, Finite::get);
                self.state.learning_rate = restore.learning_rate.map_or(learning_rate, Finite::get);
            }
            _ => {}
        }
    }

    fn backward(&mut self, backward: &Backward) {
        while let Some((first, rest)) = self.microbatches.split_first() {
            self.microbatches = rest;
            if first.source.is_some() {
                self.pass(first, backward);
                return;
            }
        }
    }

    fn pass(&mut self, microbatch: &Microbatch, backward: &Backward) {
        if self.contract.loss_scale.is_some() {
            self.state.loss_scale = backward.loss_scale.map_or(self.state.loss_scale, Finite::get);
        }
        let declared = if microbatch.valid_targets == 0 { 0.0 } else { microbatch.declared.unwrap_or(f64::NAN) };
        self.ops.push(Op::Backward(Pass {
            index: microbatch.backward_index,
            valid_targets: microbatch.valid_targets,
            weight: weight(backward).unwrap_or(f64::NAN),
            declared,
            loss_scale: self.state.loss_scale,
            syncs: self.contract.world_size.get() > 1 && backward.really_synced() == Some(true),
            overflows: !microbatch.is_finite(),
        }));
    }
}

/// f as it was when backward was called; `None` where nothing recorded implies it.
fn weight(backward: &Backward) -> Option<f64> {
    let differentiated = backward.backward_loss?.get() - backward.auxiliary_loss.map_or(0.0, Finite::get);
    let loss_sum = backward.numerator().filter(|loss| *loss != 0.0)?;
    (backward.valid_targets.get() > 0).then_some(differentiated / loss_sum)
}

/// The event that a finding about the whole window points at.
fn settled(rank: &RankWindow) -> Option<u64> {
    let last = |is: fn(&Event) -> bool| rank.events.iter().rev().find(|indexed| is(&indexed.event));
    let step = last(|event| matches!(event, Event::OptimizerStep(_)));
    step.or_else(|| last(|event| matches!(event, Event::Backward(_)))).map(|indexed| indexed.index)
}

fn first_scale(rank: &RankWindow) -> Option<f64> {
    rank.backwards().find_map(|(.., backward)| backward.loss_scale).map(Finite::get)
}

/// The recorded scale after the window, beside what the policy allows.
fn scale_move(window: &Window, clock: &WindowClock) -> Option<ScaleMove> {
    let recorded = window.ranks.first()?.events.iter().rev().find_map(|indexed| match &indexed.event {
        Event::ScalerUpdate(update) => Some(update.loss_scale.get()),
        _ => None,
    })?;
    let mut strange = clock.ranks.iter().flat_map(|rank| &rank.strange_scales);
    let strange = strange.rfind(|sighting| sighting.field == "/scaler_update/loss_scale");
    let reference = strange.and_then(|sighting| sighting.expected.first().copied()).unwrap_or(recorded);
    Some(ScaleMove { run: recorded, reference })
}

/// Where no recorded loss implies a weight, it is the one with which the declared weight comes out after all rescales.
fn imply_weights(ops: &mut [Op]) {
    let mut rescaled = 1.0;
    for op in ops.iter_mut().rev() {
        match op {
            Op::Rescale(factor) => rescaled *= *factor,
            Op::Backward(pass) if pass.weight.is_nan() => pass.weight = pass.declared / rescaled,
            _ => {}
        }
    }
}

/// A skipped update had something nonfinite in it: where no microbatch is marked, the last one has it.
fn overflow_somewhere(ops: &mut [Op]) {
    if ops.iter().filter_map(Op::pass).any(|pass| pass.overflows) {
        return;
    }
    if let Some(Op::Backward(pass)) = ops.iter_mut().rfind(|op| matches!(op, Op::Backward(_))) {
        pass.overflows = true;
    }
}

/// What cannot be executed.
fn obstacle(script: &Script, ledger: &WindowLedger) -> Option<Obstacle> {
    if ledger.is_resumed {
        return Some(Obstacle::Resumed);
    }
    if ledger.valid_targets() == 0 {
        return Some(Obstacle::NoTargets);
    }
    if script.outcome == Some(Outcome::Applied) && ledger.nonfinite > 0 {
        return Some(Obstacle::NonfiniteApplied);
    }
    if script.passes().any(|(_, pass)| pass.declared.is_nan()) {
        return Some(Obstacle::UnknownWeight);
    }
    let is_crowded = |ops: &Vec<Op>| {
        let passes = ops.iter().filter_map(Op::pass).count();
        ops.len() > MOST_OPERATIONS * (passes + 1)
    };
    if script.ranks.iter().any(is_crowded) {
        return Some(Obstacle::TooManyEvents);
    }
    let in_range = |op: &Op| match *op {
        Op::ZeroGrad => true,
        Op::Backward(pass) => {
            let scale = pass.loss_scale;
            scale >= LEAST_LOSS_SCALE && pass.weight.is_finite() && (pass.weight * scale).is_finite()
        }
        Op::Rescale(factor) | Op::Clip(factor) => factor.is_finite(),
        Op::Unscale(scale) => scale.is_finite() && scale >= LEAST_LOSS_SCALE,
        Op::Step(step) => step.unscales >= LEAST_LOSS_SCALE,
    };
    (!script.ranks.iter().flatten().all(in_range)).then_some(Obstacle::OutOfRange)
}

//! One pass over a rank's stretch of a window: how each event moves the clocks, and what the contract has there.
use super::rank::RankState;
use super::scaler::ScalerState;
use super::trace::Phase;
use super::trace::Tick;
use super::trace::Trace;
use super::updates::Updates;
use super::updates::other;
use super::window::EpochEnd;
use super::window::Gradients;
use super::window::Label;
use super::window::Labelled;
use super::window::RankClock;
use super::window::Rate;
use super::window::Sighting;
use crate::manifest::contract::Contract;
use crate::manifest::contract::Interval;
use crate::manifest::contract::Position;
use crate::manifest::contract::SchedulerClock;
use crate::manifest::contract::Tail;
use crate::manifest::contract::Unobserved;
use crate::manifest::event::Event;
use crate::manifest::event::OptimizerStep;
use crate::manifest::event::Outcome;

/// One pass over a rank's stretch of a window.
pub(super) struct Pass<'a> {
    state: &'a mut RankState,
    contract: &'a Contract,
    scheduler: Option<SchedulerClock>,
    outcome: Option<Outcome>,
    /// The first recorded scale of a backward, and the last.
    scales: Option<(f64, f64)>,
    scaler_updated: bool,
    /// Epochs that had ended when the window began.
    epochs_before: Option<u64>,
    /// Scheduler ticks of the window so far.
    ticks: u64,
    /// Whether the epoch ended since the last backward.
    at_epoch_end: bool,
}

impl<'a> Pass<'a> {
    pub(super) fn new(state: &'a mut RankState, contract: &'a Contract, trace: &Trace) -> Self {
        Pass {
            epochs_before: state.epochs.ended,
            state,
            contract,
            scheduler: contract.scheduler.map(|scheduler| scheduler.clock()),
            outcome: trace.outcome(),
            scales: None,
            scaler_updated: false,
            ticks: 0,
            at_epoch_end: false,
        }
    }

    pub(super) fn take(&mut self, tick: Tick, event: &Event, clock: &mut RankClock) {
        match event {
            Event::ZeroGrad => self.state.gradients = Gradients::Clean,
            Event::Backward(backward) => {
                if clock.trace.backwards.first().is_some_and(|first| first.position == tick.position) {
                    clock.gradients = self.state.gradients;
                    self.epochs_before = self.state.epochs.ended;
                }
                self.state.gradients = Gradients::Open;
                self.state.epochs.microbatch();
                self.at_epoch_end = false;
                if let Some(scale) = backward.loss_scale {
                    self.multiplied(tick.index, scale.get(), clock);
                }
            }
            Event::Unscale(unscale) => {
                if let Some(scale) = unscale.loss_scale {
                    self.divided(tick.index, "/unscale/loss_scale", scale.get(), clock);
                }
            }
            Event::OptimizerStep(step) => self.step(tick, step, clock),
            Event::ScalerUpdate(update) => self.scaler_update(tick, update.loss_scale.get(), clock),
            Event::SchedulerStep(step) => self.scheduler_step(tick, step.learning_rate.get(), clock),
            Event::Checkpoint(label) => self.label(tick, Labelled::Checkpoint, label.update.get(), clock),
            Event::Evaluation(label) => self.label(tick, Labelled::Evaluation, label.update.get(), clock),
            Event::EpochEnd | Event::EpochEndCounted(_) => self.epoch_end(tick, event, clock),
            Event::Drop(_) => self.spend(),
            _ => {}
        }
    }

    /// An update or drop has done with the gradients; cleared ones stay clear.
    fn spend(&mut self) {
        if self.state.gradients == Gradients::Open {
            self.state.gradients = Gradients::Spent;
        }
    }

    fn epoch_end(&mut self, tick: Tick, event: &Event, clock: &mut RankClock) {
        clock.epochs_ended += u64::from(self.state.epochs.is_begun());
        let seen = self.state.epochs.end();
        let offered = event.as_epoch_end().flatten();
        clock.epochs.push(EpochEnd { index: tick.index, offered, seen });
        self.at_epoch_end = true;
    }

    fn step(&mut self, tick: Tick, step: &OptimizerStep, clock: &mut RankClock) {
        if let Some(update) = step.update {
            self.label(tick, Labelled::Step, update.get(), clock);
        }
        if let Some(scale) = step.loss_scale {
            self.divided(tick.index, "/optimizer_step/loss_scale", scale.get(), clock);
        }
        if let Some(rate) = step.learning_rate {
            let indices = self.step_indices();
            clock.rates.push(Rate { index: tick.index, is_tick: false, recorded: rate.get(), indices });
            self.state.learning_rate = Some(rate.get());
        }
        self.state.updates.count(step.outcome);
        self.state.applied_here += u64::from(step.outcome == Outcome::Applied);
        self.state.ticks_since_step = 0;
        self.spend();
    }

    fn label(&mut self, tick: Tick, of: Labelled, recorded: u64, clock: &mut RankClock) {
        let policy = self.contract.on_skip.update;
        self.state.updates.calibrate(recorded, policy);
        let is_inside = match tick.phase {
            _ if of == Labelled::Step => false,
            // Under carry an epoch's end interrupts a window without ending it: a state saved there is a whole one.
            Phase::Accumulating => !(self.contract.tail == Tail::Carry && self.at_epoch_end),
            Phase::Complete => clock.trace.steps.iter().any(|(step, _)| step.position > tick.position),
            Phase::Lead | Phase::Settled => false,
        };
        clock.labels.push(Label {
            index: tick.index,
            of,
            recorded,
            counted: self.state.updates.counter(policy),
            otherwise: self.state.updates.counter(other(policy)),
            is_inside,
        });
    }
}

/// The learning rate's clock.
impl Pass<'_> {
    fn scheduler_step(&mut self, tick: Tick, recorded: f64, clock: &mut RankClock) {
        self.state.learning_rate = Some(recorded);
        self.state.ticks_since_step = self.state.ticks_since_step.saturating_add(1);
        self.ticks += u64::from(tick.phase != Phase::Lead);
        let indices = self.tick_indices(tick.phase).unwrap_or_default();
        clock.rates.push(Rate { index: tick.index, is_tick: true, recorded, indices });
    }

    /// Updates that moved the scheduler before now.
    fn scheduler_updates(&self) -> Option<u64> {
        self.state.updates.counter(self.contract.on_skip.scheduler)
    }

    /// The indices whose rate the step may use. A scheduler that ticks before the step is built either so that its
    /// first tick sets the rate of index 0 or so that it sets that of index 1; both are right.
    fn step_indices(&self) -> Vec<u64> {
        let Some(clock) = self.scheduler else { return Vec::new() };
        let mut indices: Vec<u64> = match clock.interval {
            Interval::Update => self.scheduler_updates().into_iter().collect(),
            Interval::Epoch => self.epochs_before.into_iter().chain(self.state.epochs.ended).collect(),
        };
        if clock.position == Position::Before {
            indices.extend(indices.last().map(|last| last.saturating_add(1)));
        }
        indices.dedup();
        indices.iter_mut().for_each(|index| *index = index.saturating_mul(clock.ticks));
        indices
    }

    /// The indices whose rate a tick may set; `None` where the contract owes no tick.
    fn tick_indices(&self, phase: Phase) -> Option<Vec<u64>> {
        let clock = self.scheduler?;
        if phase == Phase::Lead && clock.position == Position::After {
            return None;
        }
        let (done, ordinal) = match (clock.interval, clock.position) {
            (Interval::Epoch, _) => (self.epochs_before?, self.ticks),
            // Until the step these are updates before it, afterwards this one has been counted too.
            (Interval::Update, Position::Before) => (self.scheduler_updates()?, self.state.ticks_since_step),
            (Interval::Update, Position::After) => (self.updates_before_step(phase)?, self.ticks),
        };
        let index = done.saturating_mul(clock.ticks).saturating_add(ordinal);
        match clock.position {
            Position::After => Some(vec![index]),
            Position::Before => Some(index.checked_sub(clock.ticks).into_iter().chain([index]).collect()),
        }
    }

    /// Scheduler index of this window's step, seen from before or after it; `None` where it owes no ticks.
    fn updates_before_step(&self, phase: Phase) -> Option<u64> {
        let outcome = self.outcome?;
        let mut before = Updates { applied: Some(1), skipped: Some(1) };
        let owed_before = before.counter(self.contract.on_skip.scheduler)?;
        before.count(outcome);
        let moved = before.counter(self.contract.on_skip.scheduler)? - owed_before;
        if moved == 0 {
            return None;
        }
        let now = self.scheduler_updates()?;
        if phase == Phase::Settled { now.checked_sub(moved) } else { Some(now) }
    }
}

/// The loss scale's clock.
impl Pass<'_> {
    /// A backward multiplied the loss by S.
    fn multiplied(&mut self, index: u64, recorded: f64, clock: &mut RankClock) {
        let Some(scaler) = &mut self.state.scaler else { return };
        match self.scales {
            None => {
                let strange = scaler.sight(recorded);
                let sighting = |expected| Sighting { index, field: "/backward/loss_scale", recorded, expected };
                clock.strange_scales.extend(strange.map(sighting));
                self.scales = Some((recorded, recorded));
            }
            Some((first, _)) => {
                if !scaler.same(recorded, first) {
                    let expected = vec![first];
                    clock.scale_changes.push(Sighting { index, field: "/backward/loss_scale", recorded, expected });
                }
                self.scales = Some((first, recorded));
            }
        }
    }

    /// An unscale, or the step itself, divided S out.
    fn divided(&mut self, index: u64, field: &'static str, recorded: f64, clock: &mut RankClock) {
        let observed = self.contract.observes(Unobserved::Unscale);
        let Some(scaler) = self.state.scaler.as_mut().filter(|_| observed) else { return };
        match self.scales {
            Some((_, last)) if scaler.same(recorded, last) => {}
            Some((_, last)) => {
                clock.unscale_mismatches.push(Sighting { index, field, recorded, expected: vec![last] });
            }
            None => {
                let strange = scaler.sight(recorded);
                clock.strange_scales.extend(strange.map(|expected| Sighting { index, field, recorded, expected }));
            }
        }
    }

    fn scaler_update(&mut self, tick: Tick, recorded: f64, clock: &mut RankClock) {
        let observed = self.contract.observes(Unobserved::ScalerUpdate);
        let Some(scaler) = self.state.scaler.as_mut().filter(|_| observed) else { return };
        let is_steady = clock.scale_changes.is_empty();
        match self.outcome {
            Some(outcome) if tick.phase >= Phase::Complete && !self.scaler_updated && is_steady => {
                scaler.advance(outcome == Outcome::Skipped);
                let strange = scaler.sight(recorded);
                let field = "/scaler_update/loss_scale";
                let sighting = |expected| Sighting { index: tick.index, field, recorded, expected };
                clock.strange_scales.extend(strange.map(sighting));
            }
            // An update too many, too early or out of a torn window follows no policy: other rules say so.
            _ => scaler.set(ScalerState { scale: Some(recorded), ..ScalerState::default() }),
        }
        self.scaler_updated |= tick.phase != Phase::Lead;
    }

    /// What is owed at the end of the window although no event says so.
    pub(super) fn finish(mut self, clock: &mut RankClock, is_cut: bool) {
        clock.epoch_open = self.state.epochs.is_begun();
        let Some(outcome) = self.outcome.take() else { return };
        let Some(scaler) = self.state.scaler.as_mut().filter(|_| !self.scaler_updated && !is_cut) else { return };
        if self.contract.observes(Unobserved::ScalerUpdate) {
            scaler.set(ScalerState::default());
        } else {
            scaler.advance(outcome == Outcome::Skipped);
        }
    }
}

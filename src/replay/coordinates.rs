//! The declared optimizer on the recorded numbers: what the recorded parameters must have become.
//!
//! This is evidence about the real run, not about the surrogate: where `parameters` and `logged.gradient` were recorded in
//! the same coordinates, clip, rate and optimizer lead from one to the other. Moments are known only from the first
//! update on, and as long as no gradient is missing; whatever is unknown is not judged.
use super::machine::optimizer;
use super::script::Op;
use super::script::Script;
use crate::canonical::Finite;
use crate::clock::WindowClock;
use crate::clock::schedule;
use crate::manifest::contract::Basis;
use crate::manifest::contract::Contract;
use crate::manifest::contract::Optimizer as DeclaredOptimizer;
use crate::manifest::contract::Unobserved;
use crate::manifest::event::Clip;
use crate::manifest::event::Event;
use crate::manifest::event::Logged;
use crate::manifest::event::OptimizerStep;
use crate::manifest::event::Outcome;
use crate::manifest::list::Vector;
use crate::manifest::resume::Resume;
use crate::manifest::window::RankWindow;
use crate::manifest::window::Window;
use crate::numeric::tolerance::Tolerance;
use crate::optimizer::Optimizer;
use crate::optimizer::clip;

/// Follows recorded coordinates through the windows.
#[derive(Debug)]
pub struct Coordinates {
    contract: Contract,
    declared: DeclaredOptimizer,
    is_complete: bool,
    dimension: usize,
    tolerance: Tolerance,
    ranks: Vec<RankCoordinates>,
    is_continued: bool,
}

/// Recorded parameters that do not follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoordinateDrift {
    /// The rank.
    pub rank: u64,
    /// Index of the `parameters` event among the rank's.
    pub event: u64,
    /// The element that is furthest beyond tolerance.
    pub element: usize,
    /// What was recorded there.
    pub recorded: f64,
    /// What follows from the numbers before.
    pub expected: f64,
    /// |recorded − expected| / |expected|; infinite for an expected 0.
    pub relative: f64,
    /// Whether an update lies between this record and the one before.
    pub is_after_update: bool,
}

/// One rank's coordinates between events.
#[derive(Clone, Debug)]
struct RankCoordinates {
    /// The parameters now, where they are known.
    values: Option<Vec<f64>>,
    /// With its moments, where they are known.
    optimizer: Option<Optimizer>,
    /// The rate in force, where it was recorded.
    rate: Option<f64>,
    stepped: bool,
}

impl Coordinates {
    /// Before the first window; `None` where the contract has no optimizer, or no basis in which one can be followed.
    pub fn new(contract: &Contract, resume: Option<&Resume>) -> Option<Self> {
        let basis = contract.gradient_basis?;
        let is_complete = matches!(basis, Basis::Complete { .. });
        if matches!(basis, Basis::Sketch { .. }) {
            return None;
        }
        let declared = contract.tolerance;
        Some(Coordinates {
            contract: contract.clone(),
            declared: contract.optimizer?,
            is_complete,
            dimension: usize::try_from(basis.dimension()).ok()?,
            tolerance: Tolerance::new(declared.absolute.get(), declared.relative.get())?,
            ranks: Vec::new(),
            is_continued: resume.is_some(),
        })
    }

    /// Follows a window and gives the record that is furthest off, if one is.
    pub fn window(&mut self, window: &Window, clock: &WindowClock, script: &Script) -> Option<CoordinateDrift> {
        if self.ranks.is_empty() {
            // From the very first update on the moments are known: they begin at 0.
            let begins = !self.is_continued && clock.update_index() == Some(0);
            let optimizer = begins.then(|| optimizer(Some(&self.declared), self.dimension));
            let rank = RankCoordinates { values: None, optimizer, rate: None, stepped: false };
            self.ranks = vec![rank; window.ranks.len()];
        }
        let mut worst: Option<CoordinateDrift> = None;
        for (at, recorded) in window.ranks.iter().enumerate() {
            let mut ops = script.ranks.get(at).into_iter().flatten();
            for indexed in &recorded.events {
                match &indexed.event {
                    Event::Parameters(parameters) => {
                        let found = self.parameters(at, indexed.index, &parameters.values);
                        if let Some(found) = found
                            && worst.is_none_or(|worst| found.relative > worst.relative)
                        {
                            worst = Some(found);
                        }
                    }
                    Event::OptimizerStep(step) => {
                        let rate = ops.by_ref().find_map(|op| match op {
                            Op::Step(step) => Some(step.learning_rate),
                            _ => None,
                        });
                        self.step(at, step, recorded, script, rate);
                    }
                    Event::SchedulerStep(step) => self.ranks[at].rate = Some(step.learning_rate.get()),
                    Event::Restore(_) => {
                        let rate = self.ranks[at].rate;
                        self.ranks[at] = RankCoordinates { values: None, optimizer: None, rate, stepped: false };
                    }
                    _ => {}
                }
            }
        }
        worst
    }

    /// Compares recorded parameters with those that follow, and goes on from the recorded ones.
    fn parameters(&mut self, rank: usize, event: u64, recorded: &Vector) -> Option<CoordinateDrift> {
        let recorded: Vec<f64> = recorded.iter().map(|value| value.get()).collect();
        let state = &mut self.ranks[rank];
        let expected = state.values.replace(recorded);
        let is_after_update = std::mem::take(&mut state.stepped);
        let (recorded, expected) = (state.values.as_ref()?, expected?);
        let mut worst: Option<CoordinateDrift> = None;
        for (element, (&recorded, &expected)) in recorded.iter().zip(&expected).enumerate() {
            if self.tolerance.accepts(recorded, expected) {
                continue;
            }
            let relative = (recorded - expected).abs() / expected.abs();
            if worst.is_none_or(|worst| relative > worst.relative) {
                let rank = rank as u64;
                worst = Some(CoordinateDrift { rank, event, element, recorded, expected, relative, is_after_update });
            }
        }
        worst
    }

    fn step(&mut self, rank: usize, step: &OptimizerStep, recorded: &RankWindow, script: &Script, used: Option<f64>) {
        if let Some(rate) = step.learning_rate {
            self.ranks[rank].rate = Some(rate.get());
        }
        if step.outcome == Outcome::Skipped {
            return;
        }
        let rate = self.rate(rank, script, used);
        let gradient = self.gradient(recorded, script.window);
        let state = &mut self.ranks[rank];
        state.stepped = true;
        // Plain SGD keeps nothing from step to step.
        let plain = matches!(self.declared, DeclaredOptimizer::Sgd { momentum, .. } if momentum.get() == 0.0);
        if plain {
            state.optimizer = Some(optimizer(Some(&self.declared), self.dimension));
        }
        let (Some(rate), Some(gradient), Some(optimizer)) = (rate, gradient, state.optimizer.as_mut()) else {
            (state.values, state.optimizer) = (None, None);
            return;
        };
        let coupled = matches!(self.declared, DeclaredOptimizer::Sgd { weight_decay, .. } if weight_decay.get() != 0.0);
        // AdamW's moments do not depend on the parameters, SGD's do where it decays them.
        let mut unknown = vec![0.0; if coupled { 0 } else { self.dimension }];
        let values = state.values.as_mut().unwrap_or(&mut unknown);
        if values.is_empty() || optimizer.step(rate, values, &gradient).is_err() {
            (state.values, state.optimizer) = (None, None);
        }
    }

    /// The rate of the step: recorded, or else the contract's.
    fn rate(&self, rank: usize, script: &Script, used: Option<f64>) -> Option<f64> {
        if self.ranks[rank].rate.is_some() {
            return self.ranks[rank].rate;
        }
        match &self.contract.scheduler {
            None => used,
            Some(_) => {
                let (scheduler, index) = script.declared.schedule.as_ref()?;
                schedule::rate(scheduler, *index)
            }
        }
    }

    /// The gradient that the optimizer consumed, in the basis; `None` where it is not known.
    fn gradient(&self, recorded: &RankWindow, window: u64) -> Option<Vec<f64>> {
        let events = recorded.events.iter().chain(&recorded.late);
        let logged = events.filter_map(|indexed| match &indexed.event {
            Event::Logged(logged) if logged.window.get() == window => Some(logged),
            _ => None,
        });
        let logged: Vec<&Logged> = logged.collect();
        let gradient =
            logged.iter().find_map(|logged| logged.gradient.as_ref().filter(|_| logged.decimals.is_none()))?;
        let mut gradient: Vec<f64> = gradient.iter().map(|value| value.get()).collect();
        if let Some(policy) = self.contract.clip {
            let observed = self.contract.observes(Unobserved::Clip);
            let clipped = recorded.events.iter().rev().filter(|_| observed).find_map(|indexed| match &indexed.event {
                Event::Clip(Clip { norm: Some(norm), .. }) => Some(norm.get()),
                _ => None,
            });
            let logged = logged.iter().find_map(|logged| logged.grad_norm).map(Finite::get);
            let own = self.is_complete.then(|| clip::global_norm(&gradient));
            // A norm that was clipped before the unscale is in another unit.
            let clipped = clipped.filter(|_| self.contract.loss_scale.is_none());
            let norm = clipped.or(logged).or(own)?;
            let coefficient = clip::coefficient(norm, policy.max_norm.get());
            gradient.iter_mut().for_each(|g| *g *= coefficient);
        }
        Some(gradient)
    }
}

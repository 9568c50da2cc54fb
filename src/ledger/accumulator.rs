//! The gradient buffers of each rank: what each backward must have added to them (MANIFEST.md §5, `accumulated`).
//!
//! Invariant: a buffer is judged against the value recorded last, so that one fault shows once; where something
//! unrecorded may have touched it, it is unknown until it is cleared.
use super::microbatch::Microbatch;
use super::window::WindowLedger;
use crate::canonical::Finite;
use crate::manifest::contract::Contract;
use crate::manifest::contract::LossScale;
use crate::manifest::contract::Reduction;
use crate::manifest::contract::Unobserved;
use crate::manifest::event::Backward;
use crate::manifest::event::Event;
use crate::manifest::resume::Resume;
use crate::manifest::window::RankWindow;
use crate::manifest::window::Window;

/// What is known of a rank's buffers before a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BufferState {
    /// Whether they hold 0.
    pub(super) is_clear: bool,
    /// S in force, where it is known; 1 without a loss scale.
    pub(super) loss_scale: Option<f64>,
}

impl BufferState {
    /// At the start of a run.
    pub(super) fn initial(contract: &Contract, resume: Option<&Resume>) -> Self {
        let declared = match contract.loss_scale {
            None => 1.0,
            Some(LossScale::Static { value }) => value.get(),
            Some(LossScale::Dynamic { initial, .. }) => initial.get(),
        };
        let resumed = resume.map(|resume| resume.loss_scale.map(Finite::get));
        let loss_scale = match (contract.loss_scale, resumed) {
            (Some(LossScale::Dynamic { .. }), Some(resumed)) => resumed,
            _ => Some(declared),
        };
        BufferState { is_clear: true, loss_scale }
    }

    /// After a rank's events of a window.
    pub(super) fn after(self, rank: &RankWindow, contract: &Contract) -> Self {
        let mut state = self;
        for indexed in &rank.events {
            match &indexed.event {
                Event::ZeroGrad => state.is_clear = true,
                Event::Backward(_) => state.is_clear = false,
                Event::OptimizerStep(_) | Event::Drop(_) if !contract.observes(Unobserved::ZeroGrad) => {
                    state.is_clear = true;
                }
                Event::ScalerUpdate(update) => state.loss_scale = Some(update.loss_scale.get()),
                Event::Restore(restore) => {
                    state.is_clear = false;
                    state.loss_scale = restore.loss_scale.map(Finite::get).or(state.loss_scale);
                }
                _ => {}
            }
        }
        // A scale that moves unseen is known only where a backward records it.
        let moves = matches!(contract.loss_scale, Some(LossScale::Dynamic { .. }));
        if moves && !contract.observes(Unobserved::ScalerUpdate) {
            state.loss_scale = None;
        }
        state
    }
}

/// What buffers hold: a recorded value or 0, times a factor, and what was added since without being recorded.
#[derive(Clone, Debug)]
struct Held<'a> {
    recorded: Option<(&'a [Finite], f64)>,
    /// Microbatch and rescale factor since.
    terms: Vec<(usize, f64)>,
}

/// One backward and what it must have done to the buffers of its rank.
#[derive(Clone, Debug)]
pub(super) struct Growth<'a> {
    /// Its place in the ledger.
    pub(super) microbatch: usize,
    /// Among its rank's backwards of the window; those of one index meet in an all-reduce.
    backward_index: u64,
    before: Held<'a>,
    after: Option<&'a [Finite]>,
    synced: bool,
}

/// How the gradient of a backward meets what the buffers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meeting {
    /// It is added.
    Add,
    /// It takes the place of what was there.
    Replace,
    /// It is lost unless the buffers were clear.
    KeepFirst,
}

/// The growths of a window, by rank and backward; a rank's stop where its buffers are not known any more.
pub(super) struct Growths<'a> {
    ranks: Vec<Vec<Growth<'a>>>,
    /// By microbatch: S·G/Π(later rescales), the part of a contribution that no recipe changes, as vector and factor.
    parts: Vec<Option<(&'a [Finite], f64)>>,
    /// By microbatch: Π(later rescales)/S, which makes a buffer's value one of the final gradient.
    units: Vec<f64>,
    dimension: usize,
    averaged: f64,
}

impl<'a> Growths<'a> {
    /// Those of a window; `None` where no buffer was recorded.
    pub(super) fn of(contract: &Contract, window: &'a Window, ledger: &WindowLedger) -> Option<Self> {
        if ledger.buffers.is_empty() {
            return None;
        }
        let mut growths = Growths {
            ranks: Vec::with_capacity(window.ranks.len()),
            parts: vec![None; ledger.microbatches.len()],
            units: vec![1.0; ledger.microbatches.len()],
            dimension: 0,
            averaged: if contract.gradient_reduction == Some(Reduction::Mean) {
                window.ranks.len() as f64
            } else {
                1.0
            },
        };
        for (rank, &state) in window.ranks.iter().zip(&ledger.buffers) {
            let of_rank = growths.rank(contract, rank, state, ledger);
            growths.ranks.push(of_rank);
        }
        let recorded = |growth: &Growth<'_>| growth.after.is_some();
        growths.ranks.iter().flatten().any(recorded).then_some(growths)
    }

    fn rank(
        &mut self,
        contract: &Contract,
        rank: &'a RankWindow,
        state: BufferState,
        ledger: &WindowLedger,
    ) -> Vec<Growth<'a>> {
        let mut growths = Vec::new();
        let own = |microbatch: &Microbatch| microbatch.rank == rank.rank && microbatch.source.is_some();
        let mut next = ledger.microbatches.iter().position(own).unwrap_or(usize::MAX);
        let mut scale = state.loss_scale;
        let mut held = (state.is_clear && !ledger.is_resumed).then(Held::clear);
        for (position, indexed) in rank.events.iter().enumerate() {
            match &indexed.event {
                Event::ZeroGrad => held = Some(Held::clear()),
                Event::Rescale(rescale) => {
                    if let Some(held) = &mut held {
                        held.rescale(rescale.factor.get());
                    }
                }
                Event::ScalerUpdate(update) => scale = Some(update.loss_scale.get()),
                Event::Restore(_) => held = None,
                // Between two backwards these touch the buffers; after the last nothing more is asked of them.
                Event::Unscale(_) | Event::Clip(_) | Event::OptimizerStep(_) => held = None,
                Event::Backward(backward) => {
                    let index = next;
                    next += 1;
                    let scale = backward.loss_scale.map(Finite::get).or(scale);
                    let later = later(rank, position);
                    let known = self.take(backward, index, scale, later);
                    let synced = window_synced(contract, ledger, backward);
                    held = match (held.take(), known, synced) {
                        (Some(before), true, Some(synced)) => {
                            let after = backward.accumulated.as_deref().filter(|after| after.len() == self.dimension);
                            let backward_index = ledger.microbatches[index].backward_index;
                            let growth = Growth { microbatch: index, backward_index, before, after, synced };
                            let held = growth.held();
                            growths.push(growth);
                            held
                        }
                        _ => None,
                    };
                }
                _ => {}
            }
        }
        growths
    }

    /// Takes down what a microbatch contributes; false where that is not known.
    fn take(&mut self, backward: &'a Backward, index: usize, scale: Option<f64>, later: f64) -> bool {
        let (Some(gradient), Some(scale)) = (&backward.gradient_sum, scale) else { return false };
        if backward.loss_sum.is_none() || backward.auxiliary_loss.is_some() || later == 0.0 || scale == 0.0 {
            return false;
        }
        if self.dimension == 0 {
            self.dimension = gradient.len();
        }
        if gradient.len() != self.dimension || index >= self.parts.len() {
            return false;
        }
        self.parts[index] = Some((gradient, scale / later));
        self.units[index] = later / scale;
        true
    }

    /// D.
    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    /// The backwards whose buffers were recorded, with all that took part in an all-reduce with them.
    pub(super) fn recorded(&self) -> impl Iterator<Item = (&Growth<'a>, Vec<&Growth<'a>>)> {
        self.ranks.iter().flatten().filter(|growth| growth.after.is_some()).filter_map(|growth| {
            if !growth.synced {
                return Some((growth, vec![growth]));
            }
            let peer = |rank: &'_ Vec<Growth<'a>>| {
                rank.iter().position(|peer| peer.backward_index == growth.backward_index && peer.synced)
            };
            let peers: Option<Vec<&Growth<'a>>> =
                self.ranks.iter().map(|rank| peer(rank).map(|position| &rank[position])).collect();
            peers.map(|peers| (growth, peers))
        })
    }

    /// Π(later rescales)/S of a microbatch: makes a buffer's value one of the final gradient.
    pub(super) fn unit(&self, microbatch: usize) -> f64 {
        self.units[microbatch]
    }

    /// What an element of the buffers must be after a backward with `weights` (by microbatch), in the buffers' unit.
    pub(super) fn expected(&self, peers: &[&Growth<'a>], element: usize, weights: &[f64], meeting: Meeting) -> f64 {
        let sum: f64 = peers.iter().map(|growth| self.local(growth, element, weights, meeting)).sum();
        if peers.len() > 1 { sum / self.averaged } else { sum }
    }

    /// The same on one rank, before any all-reduce.
    fn local(&self, growth: &Growth<'a>, element: usize, weights: &[f64], meeting: Meeting) -> f64 {
        let added = self.contribution(growth.microbatch, element, weights);
        let held = &growth.before;
        let terms = || held.terms.iter().map(|&(index, factor)| factor * self.contribution(index, element, weights));
        let recorded = held.recorded.map(|(values, factor)| values[element].get() * factor);
        match meeting {
            Meeting::Add => recorded.unwrap_or(0.0) + terms().sum::<f64>() + added,
            Meeting::Replace => added,
            Meeting::KeepFirst => recorded.or_else(|| terms().next()).unwrap_or(added),
        }
    }

    fn contribution(&self, microbatch: usize, element: usize, weights: &[f64]) -> f64 {
        let part = self.parts[microbatch].map(|(gradient, factor)| gradient[element].get() * factor);
        part.map_or(0.0, |part| part * weights[microbatch])
    }
}

impl<'a> Growth<'a> {
    /// What was recorded of the buffers after it.
    pub(super) fn after(&self) -> &'a [Finite] {
        self.after.unwrap_or(&[])
    }

    /// Whether the buffers were clear before it.
    pub(super) fn starts_clear(&self) -> bool {
        self.before.recorded.is_none() && self.before.terms.is_empty()
    }

    /// What the buffers hold after it; `None` where that is not known.
    fn held(&self) -> Option<Held<'a>> {
        if let Some(after) = self.after {
            return Some(Held { recorded: Some((after, 1.0)), terms: Vec::new() });
        }
        if self.synced {
            return None;
        }
        let mut held = self.before.clone();
        held.terms.push((self.microbatch, 1.0));
        Some(held)
    }
}

impl Held<'_> {
    fn clear() -> Self {
        Held { recorded: None, terms: Vec::new() }
    }

    fn rescale(&mut self, by: f64) {
        if let Some((_, factor)) = &mut self.recorded {
            *factor *= by;
        }
        for (_, factor) in &mut self.terms {
            *factor *= by;
        }
    }
}

/// The product of the rescales that follow a position, up to the optimizer's step.
fn later(rank: &RankWindow, position: usize) -> f64 {
    let mut product = 1.0;
    for indexed in &rank.events[position..] {
        match &indexed.event {
            Event::Rescale(rescale) => product *= rescale.factor.get(),
            Event::OptimizerStep(_) => break,
            _ => {}
        }
    }
    product
}

/// Whether a backward all-reduced; on one rank none does, and where it was not recorded it is not known.
fn window_synced(contract: &Contract, ledger: &WindowLedger, backward: &Backward) -> Option<bool> {
    match ledger.counts.world_size {
        0 | 1 => Some(false),
        _ if !contract.observes(Unobserved::Sync) => None,
        _ => backward.really_synced(),
    }
}

//! The clock over a whole run, window by window.
use super::rank::RankState;
use super::window::RankClock;
use super::window::WindowClock;
use crate::manifest::contract::Contract;
use crate::manifest::contract::Tail;
use crate::manifest::event::Event;
use crate::manifest::resume::Resume;
use crate::manifest::window::RankWindow;
use crate::manifest::window::Window;

/// Follows a run's clocks. Memory does not grow with the run.
#[derive(Clone, Debug)]
pub struct Clock {
    contract: Contract,
    partial: bool,
    resume: Option<Resume>,
    ranks: Vec<RankState>,
}

/// The clock part of the receipt's `carried`, which the next manifest takes as `resume`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Carried {
    /// Updates applied so far.
    pub applied_updates: u64,
    /// S in force.
    pub loss_scale: Option<f64>,
    /// Clean windows since the scale last changed.
    pub growth_tracker: Option<u64>,
    /// Overflows left before the scale backs off.
    pub hysteresis_left: Option<u64>,
    /// Whether the delay of the first growth is still to be waited out.
    pub growth_delay_pending: Option<bool>,
    /// The rate in force.
    pub learning_rate: Option<f64>,
}

impl Clock {
    /// Before the first window. With `partial` what is missing after the last window's step is not missed.
    pub fn new(contract: &Contract, resume: Option<&Resume>, partial: bool) -> Self {
        Clock { contract: contract.clone(), partial, resume: resume.cloned(), ranks: Vec::new() }
    }

    /// Takes in the next window.
    pub fn observe(&mut self, window: &Window) -> WindowClock {
        let resume = self.resume.take().filter(|resume| resume.window.get() == window.window);
        if self.ranks.is_empty() {
            let start = RankState::start(&self.contract, window.window, resume.as_ref());
            self.ranks = vec![start; window.ranks.len()];
        }
        let declared = self.contract.accumulation_steps.at(window.window);
        let is_cut = self.partial && window.is_last;
        let mut ranks = Vec::with_capacity(window.ranks.len());
        for (recorded, state) in window.ranks.iter().zip(&mut self.ranks) {
            let resumed = resume.as_ref().map(|resume| carried_in(resume, recorded.rank));
            ranks.push(state.observe(&self.contract, window.window, recorded, resumed, is_cut));
        }
        let is_tail = is_tail(declared, window, &ranks);
        let tail = if is_tail { tail(self.contract.tail, window, &ranks) } else { None };
        WindowClock { window: window.window, declared, ranks, is_tail, tail, is_last: window.is_last, is_cut }
    }

    /// Where the clocks stand now, on rank 0.
    pub fn carried(&self) -> Carried {
        self.ranks.first().map(RankState::carried).unwrap_or_default()
    }
}

/// How many microbatches of the window a rank had in the manifest before.
fn carried_in(resume: &Resume, rank: u64) -> u64 {
    let rank = resume.ranks.iter().find(|resumed| resumed.rank.get() == rank);
    rank.map_or(0, |resumed| resumed.microbatches.len() as u64)
}

/// A tail is a short window that the end of the data left so: an epoch's end or the stream's comes before the next
/// window, or the recording says that the window was carried or dropped.
fn is_tail(declared: u64, window: &Window, ranks: &[RankClock]) -> bool {
    let is_short = ranks.iter().any(|rank| rank.microbatches < declared);
    let ended = |rank: &RankClock| rank.trace.epoch_ends_after() || !rank.trace.endings.is_empty();
    is_short && (window.is_last || ranks.iter().any(ended))
}

/// What became of a tail, as far as it was stepped or said; one that is left alone where `drop` is declared is dropped.
fn tail(declared: Tail, window: &Window, ranks: &[RankClock]) -> Option<Tail> {
    if ranks.iter().any(|rank| rank.outcome().is_some()) {
        return Some(Tail::Flush);
    }
    let said = window.ranks.iter().find_map(ending);
    said.or((declared == Tail::Drop).then_some(Tail::Drop))
}

/// What a rank's last `carry` or `drop` says.
fn ending(recorded: &RankWindow) -> Option<Tail> {
    recorded.events.iter().rev().find_map(|indexed| match indexed.event {
        Event::Carry(_) => Some(Tail::Carry),
        Event::Drop(_) => Some(Tail::Drop),
        _ => None,
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::Count;
    use crate::clock::testing::contract;
    use crate::clock::testing::windows;
    use crate::manifest::event::Outcome;
    use serde_json::Value;
    use serde_json::json;

    fn run(with: Value, scripts: &[&str]) -> (Vec<WindowClock>, Carried) {
        let mut clock = Clock::new(&contract(with), None, false);
        let observed = windows(scripts).iter().map(|window| clock.observe(window)).collect();
        (observed, clock.carried())
    }

    #[test]
    fn says_what_became_of_each_window() {
        let (windows, _) =
            run(json!({}), &["b b b step zero | b b b skip zero | b b b zero | b b b b step zero | b b step"]);
        let outcomes: Vec<_> = windows.iter().map(WindowClock::outcome).collect();
        let (applied, skipped) = (Some(Outcome::Applied), Some(Outcome::Skipped));
        assert_eq!(outcomes, [applied, skipped, None, applied, applied]);
        assert_eq!(windows.iter().map(WindowClock::is_eligible).collect::<Vec<_>>(), [true, true, false, true, true]);
        assert_eq!(windows.iter().map(WindowClock::is_full).collect::<Vec<_>>(), [true, true, true, true, false]);
        let indices: Vec<_> = windows.iter().map(WindowClock::update_index).collect();
        assert_eq!(indices, [Some(0), Some(1), None, Some(1), Some(2)]);
        assert_eq!(
            windows.iter().map(|window| window.tail).collect::<Vec<_>>(),
            [None, None, None, None, Some(Tail::Flush)]
        );
        assert_eq!(windows[3].ranks[0].trace.counts.backward, 4);
    }

    #[test]
    fn an_update_that_one_rank_applied_was_applied() {
        let two = json!({"world_size": 2, "gradient_reduction": "mean"});
        for scripts in [["b b b step", "b b b skip"], ["b b b skip", "b b b step"], ["b b b", "b b b step"]] {
            assert_eq!(run(two.clone(), &scripts).0[0].outcome(), Some(Outcome::Applied), "{scripts:?}");
        }
        assert_eq!(run(two, &["b b b skip", "b b b skip"]).0[0].outcome(), Some(Outcome::Skipped));
    }

    #[test]
    fn a_tail_is_what_was_done_or_said() {
        let tail = |policy: &str, script: &str| run(json!({ "tail": policy }), &[script]).0[0].tail;
        assert_eq!(tail("flush", "b b step end | b b b step"), Some(Tail::Flush));
        assert_eq!(tail("carry", "b b carry"), Some(Tail::Carry));
        assert_eq!(tail("drop", "b b drop | b b b step"), Some(Tail::Drop));
        assert_eq!(tail("drop", "b b end zero | b b b step"), Some(Tail::Drop), "left alone where drop is declared");
        assert_eq!(tail("flush", "b b"), None, "left alone, which is GA601's");
        assert_eq!(tail("flush", "b b step zero | b b b step"), None, "short, but the data went on");
    }

    #[test]
    fn carries_the_clocks_as_they_stand() {
        let scaler = json!({"policy": "dynamic", "initial": 1024, "growth_factor": 2, "backoff_factor": 0.5,
            "growth_interval": 3, "hysteresis": 2, "growth_delay": 1});
        let declared = json!({"tail": "carry", "loss_scale": scaler, "scheduler": {"name": "recorded"}});
        let script = "b b b step~0.5 scale=1024 tick=0.4 zero | b b b skip~0.4 scale=1024 zero | b b b step scale=1024 tick=0.3 zero | b carry";
        let carried = run(declared, &[script]).1;
        let expected = Carried {
            applied_updates: 2,
            loss_scale: Some(1024.0),
            growth_tracker: Some(1),
            hysteresis_left: Some(1),
            growth_delay_pending: Some(true),
            learning_rate: Some(0.3),
        };
        assert_eq!(carried, expected);
        let restored = run(json!({}), &["b b b step~0.5 restore=0#0~0.25 b b b"]).1;
        assert_eq!((restored.applied_updates, restored.learning_rate), (0, Some(0.25)));
        let scaler = json!({"policy": "dynamic", "initial": 8, "growth_factor": 2, "backoff_factor": 0.5,
            "growth_interval": 9, "hysteresis": 3, "growth_delay": 1});
        let mut windows = windows(&["b b b step scale=8 restore=0#0@64 b b b"]);
        let restore = windows[0].ranks[0].restore.as_mut().expect("a restore");
        (restore.growth_tracker, restore.hysteresis_left) = (Count::new(7).ok(), Count::new(2).ok());
        restore.growth_delay_pending = Some(false);
        let mut clock = Clock::new(&contract(json!({"loss_scale": scaler})), None, false);
        clock.observe(&windows[0]);
        let carried = clock.carried();
        assert_eq!((carried.loss_scale, carried.growth_tracker), (Some(64.0), Some(7)));
        assert_eq!((carried.hysteresis_left, carried.growth_delay_pending), (Some(2), Some(false)));
        let joined = run(json!({}), &["restore=7#7~0.1 b b b step~0.2 zero | b b b skip"]).1;
        assert_eq!((joined.applied_updates, joined.learning_rate), (8, Some(0.2)));
    }
}

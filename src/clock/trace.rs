//! Where in its window each clock event of a rank stands.
//!
//! A window has three borders: its first backward, its last, and the event that settles it: the first optimizer step,
//! drop or carry after the last backward. Everything that the rules say about order is said in terms of them.
use super::counts::Counts;
use crate::manifest::event::Event;
use crate::manifest::event::Outcome;
use crate::manifest::window::RankWindow;

/// A stretch of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Before the first backward: only the run's first window and one after a restore have such events.
    Lead,
    /// After the first backward and before the last.
    Accumulating,
    /// After the last backward and not after the event that settles the window.
    Complete,
    /// After the step, drop or carry.
    Settled,
}

/// One clock event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Index among [`RankWindow::events`].
    pub position: usize,
    /// Index among all events of the rank.
    pub index: u64,
    /// In which stretch of its window.
    pub phase: Phase,
}

/// The clock events of one rank in one window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// How often each kind occurs.
    pub counts: Counts,
    /// Backward passes, in order.
    pub backwards: Vec<Tick>,
    /// Rescalings.
    pub rescales: Vec<Tick>,
    /// Unscalings, not those that a step did itself.
    pub unscales: Vec<Tick>,
    /// Clips.
    pub clips: Vec<Tick>,
    /// Optimizer steps, with their outcome.
    pub steps: Vec<(Tick, Outcome)>,
    /// Loss scaler updates.
    pub scaler_updates: Vec<Tick>,
    /// Scheduler ticks.
    pub scheduler_steps: Vec<Tick>,
    /// `carry` and `drop`.
    pub endings: Vec<Tick>,
    /// Ends of an epoch.
    pub epoch_ends: Vec<Tick>,
    /// Clearings between a backward and the backward, step or drop that needed its gradient.
    pub zeros_inside: Vec<Tick>,
    /// Clearings of gradients that had just been cleared.
    pub zeros_repeated: Vec<Tick>,
    /// The last clearing that no backward follows.
    pub zero_after: Option<Tick>,
    borders: Borders,
}

impl Trace {
    /// Reads a rank's stretch once.
    pub fn of(window: &RankWindow) -> Self {
        let borders = Borders::of(window);
        let mut trace = Trace { borders, ..Trace::default() };
        let mut clearing = Clearing::default();
        for (position, indexed) in window.events.iter().enumerate() {
            let tick = Tick { position, index: indexed.index, phase: borders.phase(position) };
            trace.counts.add(&indexed.event);
            clearing.follow(&indexed.event, tick, &mut trace);
            match &indexed.event {
                Event::Backward(_) => trace.backwards.push(tick),
                Event::Rescale(_) => trace.rescales.push(tick),
                Event::Unscale(_) => trace.unscales.push(tick),
                Event::Clip(_) => trace.clips.push(tick),
                Event::OptimizerStep(step) => trace.steps.push((tick, step.outcome)),
                Event::ScalerUpdate(_) => trace.scaler_updates.push(tick),
                Event::SchedulerStep(_) => trace.scheduler_steps.push(tick),
                Event::Carry(_) | Event::Drop(_) => trace.endings.push(tick),
                Event::EpochEnd | Event::EpochEndCounted(_) => trace.epoch_ends.push(tick),
                _ => {}
            }
        }
        trace
    }

    /// The stretch in which an event stands, by its position among [`RankWindow::events`].
    pub fn phase(&self, position: usize) -> Phase {
        self.borders.phase(position)
    }

    /// What the optimizer made of the window: applied if any of its steps was.
    pub fn outcome(&self) -> Option<Outcome> {
        let applied = self.steps.iter().any(|(_, outcome)| *outcome == Outcome::Applied);
        self.steps.first().map(|(_, first)| if applied { Outcome::Applied } else { *first })
    }

    /// Whether an epoch ended after the window's last backward.
    pub fn epoch_ends_after(&self) -> bool {
        self.epoch_ends.iter().any(|tick| tick.phase >= Phase::Complete)
    }

    /// How many of these ticks stand in that stretch.
    pub fn count_in(ticks: &[Tick], phase: Phase) -> usize {
        ticks.iter().filter(|tick| tick.phase == phase).count()
    }
}

/// Positions of a window's borders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Borders {
    first: usize,
    last: usize,
    settled: usize,
}

impl Borders {
    fn of(window: &RankWindow) -> Self {
        let mut backwards = window.backwards().map(|(position, ..)| position);
        // Without a backward (a resumed window that had all of them) the whole stretch comes after the last one.
        let first = backwards.next().unwrap_or(0);
        let last = backwards.next_back().unwrap_or(first);
        let settles = |event: &Event| matches!(event, Event::OptimizerStep(_) | Event::Drop(_) | Event::Carry(_));
        let after = window.events.iter().enumerate().skip(last);
        let settled = after.filter(|(_, indexed)| settles(&indexed.event)).map(|(position, _)| position).next();
        Borders { first, last, settled: settled.unwrap_or(usize::MAX) }
    }

    fn phase(&self, position: usize) -> Phase {
        if position < self.first {
            Phase::Lead
        } else if position < self.last {
            Phase::Accumulating
        } else if position <= self.settled {
            Phase::Complete
        } else {
            Phase::Settled
        }
    }
}

/// Follows the gradient buffers through a window to find clearings that lose a gradient or clear nothing.
#[derive(Default)]
struct Clearing {
    /// A backward's gradient has not been consumed yet.
    owed: bool,
    /// The clearings of owed gradients that nothing has needed yet.
    losing: Vec<Tick>,
    /// Nothing was added since the last clearing.
    cleared: bool,
}

impl Clearing {
    fn follow(&mut self, event: &Event, tick: Tick, trace: &mut Trace) {
        match event {
            Event::ZeroGrad => {
                if self.cleared {
                    trace.zeros_repeated.push(tick);
                } else if self.owed {
                    self.losing.push(tick);
                }
                self.cleared = true;
                trace.zero_after = Some(tick);
            }
            Event::Backward(_) | Event::OptimizerStep(_) | Event::Drop(_) => {
                trace.zeros_inside.append(&mut self.losing);
                self.owed = matches!(event, Event::Backward(_));
                self.cleared = false;
                if self.owed {
                    trace.zero_after = None;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::testing::windows;

    fn traced(script: &str) -> Trace {
        Trace::of(&windows(&[script])[0].ranks[0])
    }

    #[test]
    fn a_window_has_four_stretches() {
        let trace = traced("tick zero b tick b tick step tick zero");
        let phases: Vec<Phase> = trace.scheduler_steps.iter().map(|tick| tick.phase).collect();
        assert_eq!(phases, [Phase::Lead, Phase::Accumulating, Phase::Complete, Phase::Settled]);
        assert_eq!(trace.counts.scheduler_step, 4);
        assert_eq!(trace.steps[0].0.phase, Phase::Complete);
    }

    #[test]
    fn a_step_before_the_last_backward_settles_nothing() {
        let trace = traced("b step b clip");
        assert_eq!(trace.steps[0].0.phase, Phase::Accumulating);
        assert_eq!(trace.clips[0].phase, Phase::Complete);
    }

    #[test]
    fn a_clearing_inside_is_one_that_something_later_needed() {
        assert_eq!(traced("b zero b step").zeros_inside.len(), 1);
        assert_eq!(traced("b b zero step").zeros_inside.len(), 1);
        assert_eq!(traced("b b zero drop").zeros_inside.len(), 1);
        assert_eq!(traced("b b zero").zeros_inside.len(), 0);
        assert_eq!(traced("b b step zero").zeros_inside.len(), 0);
        assert_eq!(traced("zero b b step").zeros_inside.len(), 0);
        assert_eq!(traced("b step zero b step").zeros_inside.len(), 0);
    }

    #[test]
    fn a_repeated_clearing_clears_what_is_clear() {
        assert_eq!(traced("zero zero b b step zero").zeros_repeated.len(), 1);
        assert_eq!(traced("zero b b step tick zero params zero").zeros_repeated.len(), 1);
        assert_eq!(traced("zero b b step zero").zeros_repeated.len(), 0);
    }
}

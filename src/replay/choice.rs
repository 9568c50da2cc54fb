//! Which windows are replayed.
//!
//! The whole run, where its targets are within the budget. Else the first window, the last, those that were skipped or
//! short, and then those with the largest drift of a mean of means, each together with the window before it, as long as
//! the budget lasts. The choice is made while the run is read, so that it is read once: what can still be chosen is
//! held, what cannot is let go.
use super::script::Obstacle;
use super::script::Script;
use crate::manifest::event::Outcome;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Chooses while windows come in.
#[derive(Debug)]
pub struct Choice {
    budget: u64,
    /// By how much they are wanted, the most wanted first.
    wanted: BTreeMap<Rank, Candidate>,
    /// What they cost together, once they are more than the budget.
    cost: u64,
    latest: Option<Candidate>,
    obstacles: BTreeMap<Obstacle, u64>,
    windows: u64,
    eligible: u64,
    targets: u64,
}

/// How much a window is wanted: class, then drift, then the earlier.
type Rank = (Class, std::cmp::Reverse<u64>, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    FirstOrLast,
    SkippedOrShort,
    Other,
}

#[derive(Clone, Debug)]
struct Candidate {
    /// Position among all windows of the run.
    position: u64,
    script: Arc<Script>,
    before: Option<Arc<Script>>,
}

/// What is executed, in order.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The windows.
    pub windows: Vec<Planned>,
    /// Windows of the run that could be judged: stepped or skipped, and without an obstacle.
    pub eligible: u64,
    /// Windows that cannot be executed, by why.
    pub obstacles: BTreeMap<Obstacle, u64>,
}

impl Plan {
    /// Targets of all windows that are executed.
    pub fn targets(&self) -> u64 {
        self.windows.iter().fold(0, |sum, planned| sum.saturating_add(planned.script.targets()))
    }
}

/// One window of a plan.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What is executed.
    pub script: Arc<Script>,
    /// Whether it is compared with its reference, or only leads to the next one.
    pub is_judged: bool,
    /// Whether the window before it in the run was executed before it, so that its gradient buffers are known.
    pub follows: bool,
}

impl Choice {
    /// Chooses windows with up to so many targets together.
    pub fn new(budget: u64) -> Self {
        Choice {
            budget,
            wanted: BTreeMap::new(),
            cost: 0,
            latest: None,
            obstacles: BTreeMap::new(),
            windows: 0,
            eligible: 0,
            targets: 0,
        }
    }

    /// Takes in the next window.
    pub fn add(&mut self, mut script: Script) {
        if script.obstacle.is_some() {
            // It is never executed, and the window after it would hold on to it.
            script.ranks = vec![];
        }
        let script = Arc::new(script);
        let before = self.latest.take();
        let latest = Candidate {
            position: self.windows,
            script: Arc::clone(&script),
            before: before.as_ref().map(|before| Arc::clone(&before.script)),
        };
        if let Some(before) = before {
            self.want(before, false);
        }
        match script.obstacle {
            Some(obstacle) if script.outcome.is_some() => *self.obstacles.entry(obstacle).or_default() += 1,
            Some(_) => {}
            None => {
                self.targets = self.targets.saturating_add(script.targets());
                self.eligible += u64::from(script.outcome.is_some());
            }
        }
        self.latest = Some(latest);
        self.windows += 1;
    }

    fn want(&mut self, candidate: Candidate, is_last: bool) {
        let script = &candidate.script;
        if script.obstacle.is_some() || script.outcome.is_none() {
            return;
        }
        let class = if candidate.position == 0 || is_last {
            Class::FirstOrLast
        } else if script.is_short || script.outcome == Some(Outcome::Skipped) {
            Class::SkippedOrShort
        } else {
            Class::Other
        };
        // A drift is not negative, so its bits are in its order.
        let rank = (class, std::cmp::Reverse(script.mean_of_means.to_bits()), candidate.position);
        self.cost = self.cost.saturating_add(candidate.cost());
        self.wanted.insert(rank, candidate);
        // While everything fits, what each window costs alone decides, and everything is kept.
        while self.targets > self.budget && self.cost > self.budget {
            let Some((_, unwanted)) = self.wanted.pop_last() else { break };
            self.cost -= unwanted.cost();
        }
    }

    /// The windows that are executed.
    pub fn finish(mut self) -> Plan {
        if let Some(last) = self.latest.take() {
            self.want(last, true);
        }
        let mut chosen: BTreeMap<u64, (Arc<Script>, bool)> = BTreeMap::new();
        for candidate in self.wanted.into_values() {
            if let Some((before, position)) = candidate.before.zip(candidate.position.checked_sub(1))
                && before.obstacle.is_none()
            {
                chosen.entry(position).or_insert((before, false));
            }
            chosen.insert(candidate.position, (candidate.script, true));
        }
        let mut windows = Vec::with_capacity(chosen.len());
        let mut executed = None;
        for (position, (script, is_judged)) in chosen {
            // Nothing comes before the first window.
            let follows = position == 0 || executed == Some(position - 1);
            windows.push(Planned { script, is_judged, follows });
            executed = Some(position);
        }
        Plan { windows, eligible: self.eligible, obstacles: self.obstacles }
    }
}

impl Candidate {
    /// Targets that are executed for its sake.
    fn cost(&self) -> u64 {
        self.script.targets().saturating_add(self.before.as_ref().map_or(0, |before| before.targets()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::script::tests::script;

    fn plan(budget: u64, scripts: Vec<Script>) -> Vec<(u64, bool, bool)> {
        let mut choice = Choice::new(budget);
        scripts.into_iter().for_each(|script| choice.add(script));
        let planned = choice.finish().windows;
        planned.iter().map(|planned| (planned.script.window, planned.is_judged, planned.follows)).collect()
    }

    /// Windows of ten targets with these drifts.
    fn drifting(drifts: &[f64]) -> Vec<Script> {
        let window =
            |(window, &drift): (usize, &f64)| Script { mean_of_means: drift, ..script(window as u64, &[4, 6]) };
        drifts.iter().enumerate().map(window).collect()
    }

    #[test]
    fn a_run_within_the_budget_is_taken_whole() {
        let whole: Vec<_> = (0..5).map(|window| (window, true, true)).collect();
        assert_eq!(plan(50, drifting(&[0.0, 0.3, 0.1, 0.0, 0.2])), whole);
        assert_eq!(plan(0, vec![]), []);
    }

    #[test]
    fn beyond_it_first_last_and_the_worst_each_with_the_one_before() {
        // First 10, last 20, and 20 for the worst; the next would be 20 more.
        let drifts = [0.0, 0.1, 0.2, 0.9, 0.3, 0.8, 0.1];
        let chosen = [(0, true, true), (2, false, false), (3, true, true), (5, false, false), (6, true, true)];
        assert_eq!(plan(50, drifting(&drifts)), chosen);
        assert_eq!(plan(69, drifting(&drifts)), chosen, "the next one needs all of its cost");
        assert_eq!(plan(70, drifting(&drifts)).len(), 7);
    }

    #[test]
    fn skipped_and_short_windows_come_before_drift() {
        let mut windows = drifting(&[0.0, 0.1, 0.2, 0.9, 0.3, 0.1, 0.0, 0.0]);
        windows[5].outcome = Some(Outcome::Skipped);
        windows[1].is_short = true;
        let judged: Vec<u64> =
            plan(70, windows).into_iter().filter(|(_, judged, _)| *judged).map(|(window, ..)| window).collect();
        assert_eq!(judged, [0, 1, 5, 7]);
    }

    #[test]
    fn what_cannot_be_executed_is_counted_and_leads_to_nothing() {
        let mut windows = drifting(&[0.0, 0.1, 0.2]);
        windows[1].obstacle = Some(Obstacle::NonfiniteApplied);
        let mut choice = Choice::new(1000);
        windows.into_iter().for_each(|script| choice.add(script));
        let plan = choice.finish();
        assert_eq!(plan.obstacles, BTreeMap::from([(Obstacle::NonfiniteApplied, 1)]));
        let planned: Vec<_> = plan.windows.iter().map(|planned| (planned.script.window, planned.follows)).collect();
        assert_eq!(planned, [(0, true), (2, false)]);
    }

    #[test]
    fn a_window_beyond_the_budget_is_not_executed() {
        assert_eq!(plan(9, drifting(&[0.0, 0.1])), []);
    }
}

//! What of a chain of steps is recorded, and what is run again.

use std::num::NonZeroUsize;
use std::ops::Range;

use crate::autograd::recompute::binomial;

/// How a chain of steps (a decoder's blocks) is reversed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plan {
    /// Every step is recorded in the forward; none is run again.
    #[default]
    Record,
    /// Segments of so many steps (the last may have fewer) leave no tape; each is run again whole. One step to a segment
    /// is recompute of every block.
    Every(NonZeroUsize),
    /// The fewest step runs with so many snapshots at a time, the chain's input being one of them, and one step on the
    /// tape at a time ([`binomial`]). The forward is the first sweep: it records the last step.
    Snapshots(NonZeroUsize),
}

/// How a segment is run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rerun {
    /// All its steps on the tape at once.
    Whole,
    /// One step on the tape at a time, with so many snapshots, the segment's input being one of them.
    Snapshots(usize),
}

/// Consecutive steps that are treated alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) steps: Range<usize>,
    /// How they are run again; `None` where they are recorded.
    pub(super) rerun: Option<Rerun>,
}

impl Plan {
    /// Every step by itself: recompute of every block.
    pub const EACH: Self = Self::Every(NonZeroUsize::MIN);

    /// The parts of a chain, in the order of the forward.
    pub(super) fn parts(self, steps: usize) -> Vec<Part> {
        match self {
            Self::Record => vec![Part { steps: 0..steps, rerun: None }],
            Self::Every(length) => (0..steps)
                .step_by(length.get())
                .map(|start| start..steps.min(start + length.get()))
                .map(|steps| Part { steps, rerun: Some(Rerun::Whole) })
                .collect(),
            Self::Snapshots(snapshots) => snapshot_parts(steps, snapshots.get()),
        }
    }

    /// How many more step runs than steps a forward and a reverse sweep of a chain make.
    #[must_use]
    pub fn extra_steps(self, steps: usize) -> u64 {
        match self {
            Self::Record => 0,
            Self::Every(_) => steps as u64,
            Self::Snapshots(snapshots) => binomial::runs(steps as u64, snapshots.get() as u64) - steps as u64,
        }
    }
}

impl Rerun {
    /// The parts of a segment that is run again.
    pub(super) fn parts(self, steps: usize) -> Vec<Part> {
        match self {
            Self::Whole => vec![Part { steps: 0..steps, rerun: None }],
            Self::Snapshots(snapshots) => snapshot_parts(steps, snapshots),
        }
    }
}

/// One binomial sweep: it leaves a snapshot before each part and records the last step.
fn snapshot_parts(steps: usize, mut snapshots: usize) -> Vec<Part> {
    let (mut parts, mut start) = (vec![], 0);
    while steps - start > 1 {
        let advance = binomial::split((steps - start) as u64, snapshots as u64) as usize;
        parts.push(Part { steps: start..start + advance, rerun: Some(Rerun::Snapshots(snapshots)) });
        start += advance;
        snapshots -= 1;
        if snapshots == 0 {
            break;
        }
    }
    parts.push(Part { steps: start..steps, rerun: None });
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_least_one(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).unwrap()
    }

    #[test]
    fn parts_cover_the_chain_in_order() {
        let plans = [Plan::Record, Plan::EACH, Plan::Every(at_least_one(3)), Plan::Snapshots(at_least_one(2))];
        for plan in plans.into_iter().chain((1..9).map(|s| Plan::Snapshots(at_least_one(s)))) {
            for steps in 0..20 {
                let parts = plan.parts(steps);
                let covered: Vec<usize> = parts.iter().flat_map(|part| part.steps.clone()).collect();
                assert_eq!(covered, (0..steps).collect::<Vec<_>>(), "{plan:?} of {steps}");
            }
        }
    }

    #[test]
    fn only_the_last_step_of_a_binomial_sweep_is_recorded() {
        let parts = Plan::Snapshots(at_least_one(3)).parts(10);
        let recorded: Vec<Range<usize>> =
            parts.iter().filter(|part| part.rerun.is_none()).map(|part| part.steps.clone()).collect();
        assert_eq!(recorded, vec![Range { start: 9, end: 10 }]);
        assert!(parts.len() <= 4, "three snapshots and the last step");
    }
}

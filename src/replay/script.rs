//! A window as a list of what is to be executed on each rank, with every number resolved.
//!
//! A script is small: it holds no identifier and no vector, so that thousands can be kept until it is known which
//! windows are replayed.
use crate::clock::schedule;
use crate::ledger::base::WindowCounts;
use crate::manifest::contract::Scheduler;
use crate::manifest::event::Outcome;

/// One window, ready to be executed.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The window's index.
    pub window: u64,
    /// What each rank did, in order.
    pub ranks: Vec<Vec<Op>>,
    /// Of each rank the index of its last optimizer step, or else of its last backward, among all its events.
    pub settled: Vec<Option<u64>>,
    /// What the contract's clock would have done with the same microbatches.
    pub declared: Declared,
    /// What became of the window; `None` where no rank called the optimizer.
    pub outcome: Option<Outcome>,
    /// Whether it has other than K microbatches on some rank.
    pub is_short: bool,
    /// Relative drift of the loss that a mean of means would have here; 0 where there is none.
    pub mean_of_means: f64,
    /// How far the recorded loss scale moved, beside the policy.
    pub scale: Option<ScaleMove>,
    /// Why the window cannot be executed.
    pub obstacle: Option<Obstacle>,
}

/// One thing that is executed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// Clears the gradient buffers.
    ZeroGrad,
    /// Forward and reverse over one microbatch.
    Backward(Pass),
    /// Multiplies the buffers.
    Rescale(f64),
    /// Divides the buffers by a loss scale.
    Unscale(f64),
    /// Multiplies the buffers by the coefficient that follows from the recorded norm.
    Clip(f64),
    /// Calls the optimizer.
    Step(Step),
}

/// A microbatch on its way through the decoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// Index among the rank's microbatches of the window.
    pub index: u64,
    /// n: targets of its synthetic rows.
    pub valid_targets: u64,
    /// f, as recorded: what multiplies the summed loss when backward is called, before any later rescale.
    pub weight: f64,
    /// f under the declared formula.
    pub declared: f64,
    /// S, which multiplies the loss besides.
    pub loss_scale: f64,
    /// Whether its backward all-reduces.
    pub syncs: bool,
    /// Whether its gradient is made to overflow.
    pub overflows: bool,
}

/// A call of the optimizer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Whether the weights were moved.
    pub outcome: Outcome,
    /// The rate that was used.
    pub learning_rate: f64,
    /// The loss scale that the step divided out itself; 1 for none.
    pub unscales: f64,
}

/// What the contract has for a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// N, k, K and the other counts.
    pub counts: WindowCounts,
    /// S at the window's beginning.
    pub loss_scale: f64,
    /// What the unscaled gradient is multiplied by: from the window's last recorded norm; 1 without clipping.
    pub clip: f64,
    /// The rate.
    pub learning_rate: f64,
    /// Index of the schedule at which that rate stands, where it is known.
    pub schedule: Option<(Scheduler, u64)>,
}

/// The loss scale before and after a window's decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleMove {
    /// What was recorded after the window.
    pub run: f64,
    /// What the declared policy allows there.
    pub reference: f64,
}

/// Why a window is not executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obstacle {
    /// A nonfinite microbatch's window was applied.
    NonfiniteApplied,
    /// Some of its microbatches stand in an earlier manifest.
    Resumed,
    /// A count that the declared formula needs was not recorded.
    UnknownWeight,
    /// A recorded weight, factor or scale is too large or too small to be multiplied by.
    OutOfRange,
    /// Nothing in it has a target.
    NoTargets,
    /// So much happened beside its microbatches that holding and executing it would have no bound in them.
    TooManyEvents,
}

impl Obstacle {
    /// As it ends a sentence that begins "not replayed:".
    pub fn as_str(self) -> &'static str {
        match self {
            Obstacle::NonfiniteApplied => "a nonfinite microbatch was applied",
            Obstacle::Resumed => "an earlier manifest holds part of the window",
            Obstacle::UnknownWeight => "a count that the declared formula needs was not recorded",
            Obstacle::OutOfRange => "a recorded factor is out of range",
            Obstacle::NoTargets => "no microbatch of the window has a target",
            Obstacle::TooManyEvents => "the window has far more events than microbatches",
        }
    }
}

impl Script {
    /// N: what an execution costs.
    pub fn targets(&self) -> u64 {
        self.declared.counts.valid_targets
    }

    /// Microbatches of each rank, in order.
    pub fn passes(&self) -> impl Iterator<Item = (u64, &Pass)> {
        self.ranks.iter().enumerate().flat_map(|(rank, ops)| {
            ops.iter().filter_map(move |op| match op {
                Op::Backward(pass) => Some((rank as u64, pass)),
                _ => None,
            })
        })
    }

    /// Whether every rank calls the optimizer only after its last backward, so that all of the window's gradients are
    /// taken at the same parameters.
    pub fn has_one_point(&self) -> bool {
        self.ranks.iter().all(|ops| {
            let last = ops.iter().rposition(|op| matches!(op, Op::Backward(_))).unwrap_or(0);
            !ops[..last].iter().any(|op| matches!(op, Op::Step(_)))
        })
    }

    /// The same microbatches under the contract's clock: declared weights, one all-reduce with the last backward, one
    /// unscale, one clip, one step, one clearing.
    pub fn as_declared(&self) -> Script {
        let Declared { loss_scale, clip, learning_rate, .. } = self.declared;
        let outcome = self.outcome.unwrap_or(Outcome::Applied);
        let rank = |ops: &Vec<Op>| {
            let mut passes: Vec<Pass> = ops.iter().filter_map(Op::pass).copied().collect();
            let last = passes.len().saturating_sub(1);
            for (at, pass) in passes.iter_mut().enumerate() {
                *pass = Pass { weight: pass.declared, loss_scale, syncs: at == last, ..*pass };
            }
            let mut declared: Vec<Op> = passes.into_iter().map(Op::Backward).collect();
            if loss_scale != 1.0 {
                declared.push(Op::Unscale(loss_scale));
            }
            if clip != 1.0 {
                declared.push(Op::Clip(clip));
            }
            declared.push(Op::Step(Step { outcome, learning_rate, unscales: 1.0 }));
            declared.push(Op::ZeroGrad);
            declared
        };
        Script { ranks: self.ranks.iter().map(rank).collect(), outcome: Some(outcome), ..self.clone() }
    }
}

impl Declared {
    /// The rate after `ticks` more ticks than are owed; `None` where the schedule has no formula.
    pub fn rate_after(&self, ticks: u64) -> Option<f64> {
        let (scheduler, index) = self.schedule.as_ref()?;
        schedule::rate(scheduler, index.saturating_add(ticks))
    }
}

impl Op {
    /// The microbatch of a backward.
    pub fn pass(&self) -> Option<&Pass> {
        match self {
            Op::Backward(pass) => Some(pass),
            _ => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::ledger::base::RankCounts;

    /// A correct window of one rank under token-mean, without scaling, clipping or schedule.
    pub(crate) fn script(window: u64, targets: &[u64]) -> Script {
        scripts(window, &[targets])
    }

    /// The same of several ranks whose gradients are averaged.
    pub(crate) fn scripts(window: u64, ranks: &[&[u64]]) -> Script {
        let (total, w) = (ranks.iter().copied().flatten().sum::<u64>(), ranks.len() as u64);
        let longest = ranks.iter().map(|targets| targets.len() as u64).max().unwrap_or(0);
        let weight = w as f64 / total as f64;
        let pass = |(index, &valid_targets): (usize, &u64)| {
            let pass = Pass {
                index: index as u64,
                valid_targets,
                weight,
                declared: weight,
                loss_scale: 1.0,
                syncs: false,
                overflows: false,
            };
            Op::Backward(pass)
        };
        let counts = WindowCounts {
            world_size: w,
            reduction: w,
            accumulation_steps: longest,
            microbatches: longest,
            valid_targets: total,
            previous_valid_targets: None,
            unshifted_targets: None,
            slots: None,
            rows: None,
            ranks: ranks
                .iter()
                .map(|targets| RankCounts {
                    valid_targets: targets.iter().sum(),
                    unshifted_targets: None,
                    microbatches: targets.len() as u64,
                })
                .collect(),
            columns: Vec::new(),
        };
        let bare = Script {
            window,
            ranks: ranks.iter().map(|targets| targets.iter().enumerate().map(pass).collect()).collect(),
            settled: vec![None; ranks.len()],
            declared: Declared { counts, loss_scale: 1.0, clip: 1.0, learning_rate: 0.01, schedule: None },
            outcome: Some(Outcome::Applied),
            is_short: false,
            mean_of_means: 0.0,
            scale: None,
            obstacle: None,
        };
        bare.as_declared()
    }

    #[test]
    fn as_declared_is_what_the_contract_has() {
        let mut recorded = scripts(0, &[&[3, 6], &[1, 2]]);
        let declared = recorded.as_declared();
        assert_eq!(recorded, declared, "a correct window is its own declaration, and only the last backward syncs");
        assert!(declared.passes().all(|(_, pass)| pass.syncs == (pass.index == 1)));
        recorded.ranks[0].insert(1, Op::ZeroGrad);
        recorded.ranks[1].pop();
        assert_eq!(recorded.as_declared(), declared);
        recorded.declared.loss_scale = 8.0;
        recorded.declared.clip = 0.5;
        let kinds: Vec<_> = recorded.as_declared().ranks[0].iter().filter(|op| op.pass().is_none()).copied().collect();
        assert_eq!(kinds[..2], [Op::Unscale(8.0), Op::Clip(0.5)]);
        assert!(recorded.as_declared().passes().all(|(_, pass)| pass.loss_scale == 8.0));
    }

    #[test]
    fn a_step_inside_the_window_makes_two_points() {
        let mut window = script(0, &[3, 6]);
        assert!(window.has_one_point());
        let step = window.ranks[0][2];
        window.ranks[0].insert(1, step);
        assert!(!window.has_one_point());
    }
}

//! What a logical update can come to.

use crate::autograd::commit::Overflow;
use crate::autograd::recompute::Mismatch;
use crate::decoder::microbatch::{Microbatch, Partition};
use crate::optimizer::NotFinite;
use crate::optimizer::loss_scale::Decision;

/// The greatest number of targets of a window: beyond it n/N is no longer a quotient of exact numbers.
pub const MAX_TARGETS: u64 = 1 << 53;

/// What is said of a microbatch before it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Its valid targets: n.
    pub valid_targets: u64,
    /// What it is for.
    pub partition: Partition,
}

impl From<&Microbatch> for Declared {
    fn from(microbatch: &Microbatch) -> Self {
        Self { valid_targets: microbatch.valid_targets(), partition: microbatch.partition() }
    }
}

/// How an update ended that did not fail.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The optimizer stepped.
    Applied(Applied),
    /// An overflow: nothing changed but the loss scale.
    Skipped(Skipped),
}

/// The numbers of an applied update.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// N, the valid targets of all microbatches.
    pub valid_targets: u64,
    /// The mean loss of each microbatch.
    pub mean_losses: Vec<f64>,
    /// What each mean loss was differentiated with: S·n/N.
    pub seeds: Vec<f64>,
    /// L2 norm of the unscaled gradient before clipping.
    pub norm: f64,
    /// What the gradient was multiplied by; 1 where no norm limit is set.
    pub clip_coefficient: f64,
    /// The rate of this step.
    pub learning_rate: f64,
    /// The one decision about the loss scale.
    pub scale: Decision,
}

/// The numbers of a skipped update.
#[derive(Clone, Debug, PartialEq)]
pub struct Skipped {
    /// Microbatches whose gradients had been added when it overflowed.
    pub microbatches_completed: usize,
    /// Where it overflowed.
    pub at: OverflowAt,
    /// The one decision about the loss scale.
    pub scale: Decision,
}

/// Where an update met a number that is not finite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OverflowAt {
    /// The mean loss of the next microbatch.
    Loss,
    /// The backward pass of the next microbatch, or the addition of its gradients.
    Backward(Overflow),
    /// The unscaled gradient or its norm.
    Norm,
}

/// What an update refuses to work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no microbatch.
    #[error("no microbatch")]
    NoMicrobatch,
    /// A microbatch has no target: its mean loss is 0/0.
    #[error("microbatch {microbatch} has no valid target")]
    NoTarget {
        /// Its place, counted from 0.
        microbatch: usize,
    },
    /// A microbatch is not for training.
    #[error("microbatch {microbatch} is not from the training partition")]
    NotTraining {
        /// Its place, counted from 0.
        microbatch: usize,
    },
    /// N is above 2^53.
    #[error("more than 2^53 valid targets")]
    TooManyTargets,
    /// The gradients are not zero before the first microbatch.
    #[error("the gradients are not clear")]
    DirtyGradients,
    /// A forward counted other targets than were declared.
    #[error("microbatch {microbatch} was declared with {declared} valid targets and its forward counted {counted}")]
    CountDiffers {
        /// Its place, counted from 0.
        microbatch: usize,
        /// n as declared.
        declared: u64,
        /// n as the forward counted.
        counted: u64,
    },
}

/// Why an update failed. Everything is as it was; gradients that the update itself had added are cleared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Failed<E> {
    /// The window cannot be an update.
    #[error("refused: {0}")]
    Refused(Refusal),
    /// A forward failed.
    #[error("forward of microbatch {microbatch} failed: {source}")]
    Forward {
        /// Its place, counted from 0.
        microbatch: usize,
        /// What the forward said.
        source: E,
    },
    /// A block that was run again was not what it was in the forward.
    #[error("recompute of microbatch {microbatch} failed: {source}")]
    Recompute {
        /// Its place, counted from 0.
        microbatch: usize,
        /// What was different.
        source: Mismatch,
    },
    /// The optimizer's new state would not be finite although the gradient was.
    #[error(transparent)]
    Step(NotFinite),
}

/// N, if the window may be an update.
pub(super) fn admit(declared: &[Declared]) -> Result<u64, Refusal> {
    if declared.is_empty() {
        return Err(Refusal::NoMicrobatch);
    }
    let mut total = 0_u64;
    for (microbatch, Declared { valid_targets, partition }) in declared.iter().enumerate() {
        if *partition != Partition::Training {
            return Err(Refusal::NotTraining { microbatch });
        }
        if *valid_targets == 0 {
            return Err(Refusal::NoTarget { microbatch });
        }
        total = total.saturating_add(*valid_targets);
    }
    if total > MAX_TARGETS { Err(Refusal::TooManyTargets) } else { Ok(total) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn training(counts: &[u64]) -> Vec<Declared> {
        counts.iter().map(|&valid_targets| Declared { valid_targets, partition: Partition::Training }).collect()
    }

    #[test]
    fn limits() {
        assert_eq!(admit(&training(&[6, 3])), Ok(9));
        assert_eq!(admit(&[]), Err(Refusal::NoMicrobatch));
        assert_eq!(admit(&training(&[6, 0])), Err(Refusal::NoTarget { microbatch: 1 }));
        assert_eq!(admit(&training(&[MAX_TARGETS - 1, 1])), Ok(MAX_TARGETS));
        assert_eq!(admit(&training(&[MAX_TARGETS, 1])), Err(Refusal::TooManyTargets));
        assert_eq!(admit(&training(&[u64::MAX, u64::MAX])), Err(Refusal::TooManyTargets));
        let evaluation = Declared { valid_targets: 1, partition: Partition::Evaluation };
        assert_eq!(admit(&[evaluation]), Err(Refusal::NotTraining { microbatch: 0 }));
    }
}

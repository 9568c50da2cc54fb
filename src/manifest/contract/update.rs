//! What an update does besides adding up gradients: clipping, the optimizer, and what a skipped one leaves alone.
use crate::canonical::Finite;
use crate::manifest::contract::words::Move;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// Clipping by global norm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "ClipPolicy", deny_unknown_fields)]
pub struct ClipPolicy {
    /// The largest global L2 norm left as it is.
    pub max_norm: Finite,
}

/// The optimizer and its constants (MANIFEST.md §7).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "lowercase", remote = "Optimizer", deny_unknown_fields)]
#[allow(missing_docs, reason = "the fields carry their field's standard names")]
pub enum Optimizer {
    /// Adam with decoupled weight decay (Loshchilov and Hutter, arXiv:1711.05101).
    Adamw { learning_rate: Finite, beta1: Finite, beta2: Finite, epsilon: Finite, weight_decay: Finite },
    /// Stochastic gradient descent with momentum and L2 decay, as torch.optim.SGD.
    Sgd { learning_rate: Finite, momentum: Finite, weight_decay: Finite },
}

/// What a skipped update does to the other clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "OnSkip", deny_unknown_fields)]
pub struct OnSkip {
    /// The scheduler's tick.
    #[serde(default)]
    pub scheduler: Move,
    /// The update counter of `optimizer_step.update`, checkpoints and evaluations.
    #[serde(default)]
    pub update: Move,
}

objects!(ClipPolicy, Optimizer, OnSkip);

//! How a stream ends in the middle of a window.
use crate::canonical::Count;
use crate::canonical::Finite;
use crate::manifest::identifier::Identifier;
use crate::manifest::identifier::Opaque;
use crate::manifest::list::Identifiers;
use crate::manifest::list::Vector;
use crate::manifest::strict::present;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// End of stream: the partial window is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Carry", deny_unknown_fields)]
pub struct Carry {
    /// Backward passes of the window on this rank.
    pub backwards: Count,
    /// Sum of the gradient numerators. \[D\]
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub gradient_sum: Option<Vector>,
    /// Sum of the loss numerators.
    pub loss_sum: Finite,
    /// The window's microbatches on this rank, in order.
    pub microbatches: Identifiers,
    /// The microbatch that comes next.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub next_microbatch: Option<Identifier>,
    /// Opaque digest of the random state.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub random_state: Option<Opaque>,
    /// Sum of the valid targets.
    pub valid_targets: Count,
    /// The window.
    pub window: Count,
}

/// The partial window was thrown away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Dropped", deny_unknown_fields)]
pub struct Dropped {
    /// The window's microbatches on this rank, in order.
    pub microbatches: Identifiers,
    /// Sum of the valid targets.
    pub valid_targets: Count,
    /// The window.
    pub window: Count,
}

objects!(Carry, Dropped);

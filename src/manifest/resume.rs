//! The carried window that a run continues.
use crate::canonical::Count;
use crate::canonical::Digest;
use crate::canonical::Finite;
use crate::manifest::identifier::Identifier;
use crate::manifest::identifier::Opaque;
use crate::manifest::limits::MICROBATCHES;
use crate::manifest::limits::RANKS;
use crate::manifest::list::List;
use crate::manifest::list::Vector;
use crate::manifest::strict::present;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// A carried window and the clocks as they stood (MANIFEST.md §4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Resume", deny_unknown_fields)]
pub struct Resume {
    /// Updates applied so far.
    pub applied_updates: Count,
    /// Whether the delay of the first growth is still to be waited out.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub growth_delay_pending: Option<bool>,
    /// Clean windows since the scale last changed.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub growth_tracker: Option<Count>,
    /// Overflows left before the scale backs off.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub hysteresis_left: Option<Count>,
    /// The rate in force.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub learning_rate: Option<Finite>,
    /// S in force.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub loss_scale: Option<Finite>,
    /// `receipt_sha256` of the receipt in which the window was carried.
    pub previous_receipt: Digest,
    /// What each rank had done of the window.
    pub ranks: List<ResumedRank, { RANKS as usize }>,
    /// The window.
    pub window: Count,
}

/// What one rank had done of a carried window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "ResumedRank", deny_unknown_fields)]
pub struct ResumedRank {
    /// The microbatches, in order.
    pub microbatches: List<ResumedMicrobatch, MICROBATCHES>,
    /// Opaque digest.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub random_state: Option<Opaque>,
    /// The rank.
    pub rank: Count,
}

/// A microbatch of a carried window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "ResumedMicrobatch", deny_unknown_fields)]
pub struct ResumedMicrobatch {
    /// Gradient numerator. \[D\]
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub gradient_sum: Option<Vector>,
    /// Loss numerator.
    pub loss_sum: Finite,
    /// Its name.
    pub microbatch: Identifier,
    /// Valid targets.
    pub valid_targets: Count,
}

objects!(Resume, ResumedRank, ResumedMicrobatch);

//! The two documents: a microbatch manifest's header, and the rank manifest (MANIFEST.md §2, §4).
use super::contract::Contract;
use super::event::{Event, Vector};
use super::identifier::{Identifier, Opaque};
use super::present;
use crate::canonical::{Count, Digest, Finite};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `schema` of a microbatch manifest.
pub const MICROBATCH_SCHEMA: &str = "accumulation/microbatch-manifest/1";
/// `schema` of a rank manifest.
pub const RANK_SCHEMA: &str = "accumulation/rank-manifest/1";

/// The name and version of the microbatch manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MicrobatchSchema {
    /// Version 1.
    #[serde(rename = "accumulation/microbatch-manifest/1")]
    V1,
}

/// The name and version of the rank manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RankSchema {
    /// Version 1.
    #[serde(rename = "accumulation/rank-manifest/1")]
    V1,
}

/// Line 1 of a microbatch manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// For editors; ignored.
    #[serde(rename = "$schema", default, skip_serializing, deserialize_with = "present")]
    pub editor_schema: Option<String>,
    /// The contract, unless a rank manifest supplies it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub contract: Option<Contract>,
    /// The rank whose events follow.
    pub rank: Count,
    /// Name and version.
    pub schema: MicrobatchSchema,
}

/// The run as one document; `E` is an event, typed or as raw text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RankManifest<E = Event> {
    /// For editors; ignored.
    #[serde(rename = "$schema", default, skip_serializing, deserialize_with = "present")]
    pub editor_schema: Option<String>,
    /// What was declared.
    pub contract: Contract,
    /// Each rank, inline or by reference, in any order.
    pub ranks: Vec<RankEntry<E>>,
    /// How to replay.
    #[serde(default)]
    pub replay: ReplayOptions,
    /// The carried window that this run continues.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub resume: Option<Resume>,
    /// Name and version.
    pub schema: RankSchema,
}

/// One rank of a rank manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RankEntry<E = Event> {
    /// The events themselves.
    Inline(InlineRank<E>),
    /// The file that holds them.
    Reference(ReferencedRank),
}

/// A rank's events in the rank manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InlineRank<E = Event> {
    /// The events, in order.
    pub events: Vec<E>,
    /// The rank.
    pub rank: Count,
}

/// A rank's microbatch manifest, by name and hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReferencedRank {
    /// Path below the rank manifest's own folder.
    pub microbatch_manifest: String,
    /// The rank.
    pub rank: Count,
    /// Of the file's bytes, as stored.
    pub sha256: Digest,
}

/// How to replay (DESIGN.md §5). Every field has a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplayOptions {
    /// Decoder blocks.
    pub blocks: Count,
    /// Positions of a row.
    pub context: Count,
    /// Dropout probability.
    pub dropout: Finite,
    /// Width of the feed-forward layer.
    pub feed_forward: Count,
    /// Attention heads.
    pub heads: Count,
    /// What is recomputed in backward.
    pub recompute: Recompute,
    /// Of the model and the synthetic rows.
    pub seed: Count,
    /// Tokens.
    pub vocabulary: Count,
    /// Width of the residual stream.
    pub width: Count,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        let count = |value| Count::new(value).expect("bug: a small number is a count");
        ReplayOptions {
            blocks: count(3),
            context: count(8),
            dropout: Finite::new(0.0).expect("bug: 0 is finite"),
            feed_forward: count(8),
            heads: count(1),
            recompute: Recompute::None,
            seed: count(39),
            vocabulary: count(266),
            width: count(4),
        }
    }
}

/// What the replay recomputes in backward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Recompute {
    /// Nothing.
    None,
    /// Every block.
    Blocks,
    /// Blocks of k steps.
    Every(Count),
    /// The binomial optimum with s snapshots.
    Snapshots(Count),
}

/// A carried window and the clocks as they stood (MANIFEST.md §4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
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
    pub ranks: Vec<ResumedRank>,
    /// The window.
    pub window: Count,
}

/// What one rank had done of a carried window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumedRank {
    /// The microbatches, in order.
    pub microbatches: Vec<ResumedMicrobatch>,
    /// Opaque digest.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub random_state: Option<Opaque>,
    /// The rank.
    pub rank: Count,
}

/// A microbatch of a carried window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
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

//! The receipt: one RFC 8785 canonical JSON document (MANIFEST.md §8).
//!
//! It holds no time, host, path, thread count or machine detail, and every number in it is finite: equal receipts are
//! equal bytes.
//!
//! The fields of the receipt, and of what there is one of for each window or microbatch, are declared in the order of their
//! names, which is that of canonical JSON: they need not be put in order when they are written, a fourth of the time that
//! sealing a long full receipt takes.
use crate::canonical::{Count, Digest, Finite};
use crate::clock::Counts;
use crate::finding::{Code, Place, Severity};
use crate::ledger::counterexample::CounterexampleReport;
use crate::ledger::diagnosis::DiagnosisReport;
use crate::ledger::evidence::Presence;
use crate::manifest::contract::{Contract, Evidence, Tail};
use crate::manifest::event::Outcome;
use crate::manifest::identifier::Identifier;
use crate::manifest::list::Vector;
use crate::manifest::resume::ResumedRank;
use crate::numeric::rounding::Explanation;
use crate::replay::ReplayReport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `schema` of a receipt.
pub const RECEIPT_SCHEMA: &str = "accumulation/receipt/1";

/// The name and version of the receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ReceiptSchema {
    /// Version 1.
    #[serde(rename = "accumulation/receipt/1")]
    V1,
}

/// A receipt with its hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The partial window that the next manifest resumes.
    pub carried: Option<Carried>,
    /// What was declared, defaults filled in.
    pub contract: Option<Contract>,
    /// The window with the largest relative drift of a mean of means, or the frozen 3/6/1 window of a control.
    pub counterexample: Option<CounterexampleReport>,
    /// Which recipes explain what was recorded.
    pub diagnosis: Option<DiagnosisReport>,
    /// Whether the manifest was well-formed, so that it could be judged.
    pub eligible: bool,
    /// For each kind of evidence whether all, some or no windows had it.
    pub evidence: Option<BTreeMap<Evidence, Presence>>,
    /// What is wrong, worst first.
    pub findings: Vec<FindingReport>,
    /// The contract's formula; null where no contract could be read.
    pub formula: Option<String>,
    /// What was read.
    pub input: Input,
    /// What the verdict does not cover.
    pub limitations: Vec<String>,
    /// By window, rank and backward index; null unless `--detail full`.
    pub microbatches: Option<Vec<MicrobatchReport>>,
    /// What was asked for, as far as it changes bytes.
    pub options: Options,
    /// SHA-256 of the canonical bytes of everything else; absent only until the receipt is sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(required, with = "Digest")]
    pub receipt_sha256: Option<Digest>,
    /// What executing the recorded events came to; null where that was not asked for.
    pub replay: Option<ReplayReport>,
    /// Name and version.
    pub schema: ReceiptSchema,
    /// What made the receipt.
    pub tool: Tool,
    /// Over all judged windows.
    pub totals: Option<Totals>,
    /// The verdict.
    pub verdict: Verdict,
    /// By window; null at `--detail summary`.
    pub windows: Option<Vec<WindowReport>>,
}

impl AsRef<Receipt> for Receipt {
    fn as_ref(&self) -> &Receipt {
        self
    }
}

/// What made a receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// `accumulation-receipt`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What was read. Either `sha256` or, for what could not be read, `raw_sha256`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// SHA-256 of the JCS of {contract, resume, replay, ranks}.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// By rank; empty where the manifest could not be read.
    pub ranks: Vec<RankInput>,
    /// SHA-256 of the named file's bytes; of several files that of their digests in ascending order, each in
    /// hexadecimal and followed by a newline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_sha256: Option<Digest>,
}

/// What was read of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RankInput {
    /// The rank.
    pub rank: Count,
    /// Number of events.
    pub events: Count,
    /// SHA-256 of the canonical events, each followed by a newline.
    pub events_sha256: Digest,
}

/// What was asked for, as far as it changes bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// How much the receipt holds.
    pub detail: Detail,
    /// Whether a replay was asked for.
    pub replay: bool,
    /// Targets that a replay may take.
    pub replay_targets: Count,
    /// Whether the open end of the run was left out.
    pub partial: bool,
    /// `receipt_sha256` of the receipt that the run resumes, where it was given.
    pub previous: Option<Digest>,
}

/// How much a receipt holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    /// Totals, diagnosis, findings.
    Summary,
    /// And every window.
    Windows,
    /// And every microbatch.
    #[default]
    Full,
}

/// The verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No error.
    Verified,
    /// At least one error.
    Violated,
    /// Malformed: nothing was computed.
    Rejected,
}

/// Over all judged windows, carried-in microbatches included, carried-out and dropped ones not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// Windows judged.
    pub windows: Count,
    /// Their microbatches.
    pub microbatches: Count,
    /// Their valid targets.
    pub valid_targets: Count,
    /// Sum of their finite loss numerators, in nats, rounded once.
    pub loss_sum: Finite,
    /// Updates that moved the weights.
    pub updates_applied: Count,
    /// Updates that did not.
    pub updates_skipped: Count,
    /// Microbatches of windows that a restore superseded.
    pub superseded: Count,
}

/// One window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowReport {
    /// The window as it was accumulated, by the weights seen.
    pub accumulated: View,
    /// Whether every recorded number agrees with the declared formula.
    pub agrees: bool,
    /// How often each event happened on rank 0.
    pub clock: Counts,
    /// The same by rank, where ranks differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_by_rank: Option<Vec<Counts>>,
    /// What was off, beside what was declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deltas: Option<Deltas>,
    /// The window as one batch.
    pub full_batch: View,
    /// The same of the gradient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient: Option<Vec<Finite>>,
    /// What the run claimed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logged: Vec<ClaimReport>,
    /// What the declared formula gives; null where a microbatch is nonfinite.
    pub loss: Option<Finite>,
    /// L, rounded once; null where it overflows.
    pub loss_sum: Option<Finite>,
    /// The classic wrong one.
    pub mean_of_means: MeanOfMeansReport,
    /// Microbatches over all ranks.
    pub microbatches: Count,
    /// Whether the update moved the weights; null where none was tried.
    pub outcome: Option<Outcome>,
    /// What became of a short window at the end of the data.
    pub tail: Option<Tail>,
    /// Updates applied before this one; null where no update was tried.
    pub update_index: Option<Count>,
    /// N.
    pub valid_targets: Count,
    /// The window.
    pub window: Count,
}

/// Loss and gradient of a window in one way of looking at it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// In the contract's basis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient: Option<Vec<Finite>>,
    /// In nats per target; null where it cannot be had.
    pub loss: Option<Finite>,
}

/// The mean of microbatch means; null where a microbatch has no target or is nonfinite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeanOfMeansReport {
    /// Distance of the loss from L/N.
    pub absolute_drift: Option<Finite>,
    /// In the contract's basis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient: Option<Vec<Finite>>,
    /// In nats per target.
    pub loss: Option<Finite>,
    /// The same over |L/N|.
    pub relative_drift: Option<Finite>,
}

/// What one `logged` or `clip` event claimed, as far as it could be compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimReport {
    /// The claimed denominator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denominator: Option<Compared>,
    /// Index of the event.
    pub event: Count,
    /// Relative L2 distance of the claimed gradient from what the declared formula gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient_drift: Option<Finite>,
    /// The claimed or clipped norm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient_norm: Option<Compared>,
    /// The claimed loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Compared>,
    /// The rank.
    pub rank: Count,
}

impl ClaimReport {
    /// Whether anything could be compared.
    pub fn says_something(&self) -> bool {
        self.loss.is_some()
            || self.denominator.is_some()
            || self.gradient_norm.is_some()
            || self.gradient_drift.is_some()
    }
}

/// A recorded number beside the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// What the declared formula gives.
    pub expected: Finite,
    /// null within tolerance; else what the difference is.
    pub explanation: Option<Explanation>,
    /// What was recorded.
    pub recorded: Finite,
}

/// What is off in a window's weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Deltas {
    /// What the deviation is.
    pub explanation: Option<Explanation>,
    /// The factor by which all weights are off, if it is one and the same.
    pub one_factor: Option<Finite>,
    /// Of those whose weight was seen.
    pub weights_compared: Count,
    /// Microbatches whose weight is off.
    pub weights_off: Count,
    /// The largest |f_seen/f − 1|; null where it is infinite.
    pub worst_weight: Option<Finite>,
}

/// One microbatch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MicrobatchReport {
    /// Index among the rank's microbatches of the window.
    pub backward_index: Count,
    /// The gradient numerator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient_sum: Option<Vector>,
    /// The loss numerator; null where nonfinite.
    pub loss_sum: Option<Finite>,
    /// Its name.
    pub microbatch: Identifier,
    /// The rank.
    pub rank: Count,
    /// Whether its backward really all-reduced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<bool>,
    /// n.
    pub valid_targets: Count,
    /// What the declared formula gives it.
    pub weight_declared: Option<Finite>,
    /// What multiplied its loss sum.
    pub weight_seen: Option<Finite>,
    /// The window.
    pub window: Count,
}

/// A carried window and the clocks as they stood: the next manifest's `resume` but for `previous_receipt`, which is
/// this receipt's own hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Carried {
    /// The window.
    pub window: Count,
    /// What each rank had done of it.
    pub ranks: Vec<ResumedRank>,
    /// Updates applied so far.
    pub applied_updates: Count,
    /// S in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_scale: Option<Finite>,
    /// Clean windows since the scale last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth_tracker: Option<Count>,
    /// Overflows left before the scale backs off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hysteresis_left: Option<Count>,
    /// Whether the delay of the first growth is still to be waited out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth_delay_pending: Option<bool>,
    /// The rate in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<Finite>,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindingReport {
    /// The rule's code.
    pub code: Code,
    /// The rule's name.
    pub name: String,
    /// How bad.
    pub severity: Severity,
    /// What is wrong, with the numbers, of the worst instance.
    pub message: String,
    /// Where the worst instance is.
    pub place: Place,
    /// The first windows concerned.
    pub windows: Vec<Count>,
    /// Number of instances.
    pub count: Count,
    /// The finding of which it is a symptom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caused_by: Option<Code>,
}

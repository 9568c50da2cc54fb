//! The events of a rank, in the order in which they happened (MANIFEST.md §4).
//!
//! The fields of every struct stand in the order of RFC 8785's keys, so that writing them in order is canonical.
use super::identifier::{Identifier, Opaque};
use super::present;
use crate::canonical::{Count, Finite};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A recorded vector in the contract's basis, of length D.
pub type Vector = Box<[Finite]>;

/// What happened. Externally tagged; an event without fields is a plain string.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The gradients were cleared.
    ZeroGrad,
    /// An epoch ended.
    EpochEnd,
    /// A forward and backward pass.
    Backward(Backward),
    /// The gradients accumulated so far were multiplied.
    Rescale(Rescale),
    /// The loss scale was divided out.
    Unscale(Unscale),
    /// The gradients were clipped by their global norm.
    Clip(Clip),
    /// The optimizer was called.
    OptimizerStep(OptimizerStep),
    /// The loss scaler decided on the scale from now on.
    ScalerUpdate(ScalerUpdate),
    /// The scheduler ticked.
    SchedulerStep(SchedulerStep),
    /// What the run itself claims about a window.
    Logged(Logged),
    /// Values of the basis coordinates now.
    Parameters(Parameters),
    /// A saved state.
    Checkpoint(Label),
    /// An evaluated state.
    Evaluation(Label),
    /// An epoch ended, and the data had offered this many microbatches.
    #[serde(rename = "epoch_end")]
    EpochEndCounted(EpochEnd),
    /// End of stream: the partial window is kept.
    Carry(Carry),
    /// The partial window was thrown away.
    Drop(Dropped),
    /// Training went back to a saved state.
    Restore(Restore),
}

impl Event {
    /// The event's tag in a manifest.
    pub fn tag(&self) -> &'static str {
        match self {
            Event::ZeroGrad => "zero_grad",
            Event::EpochEnd | Event::EpochEndCounted(_) => "epoch_end",
            Event::Backward(_) => "backward",
            Event::Rescale(_) => "rescale",
            Event::Unscale(_) => "unscale",
            Event::Clip(_) => "clip",
            Event::OptimizerStep(_) => "optimizer_step",
            Event::ScalerUpdate(_) => "scaler_update",
            Event::SchedulerStep(_) => "scheduler_step",
            Event::Logged(_) => "logged",
            Event::Parameters(_) => "parameters",
            Event::Checkpoint(_) => "checkpoint",
            Event::Evaluation(_) => "evaluation",
            Event::Carry(_) => "carry",
            Event::Drop(_) => "drop",
            Event::Restore(_) => "restore",
        }
    }

    /// For an epoch's end: the microbatches that the data offered, where that was recorded.
    pub fn as_epoch_end(&self) -> Option<Option<u64>> {
        match self {
            Event::EpochEnd => Some(None),
            Event::EpochEndCounted(end) => Some(Some(end.microbatches.get())),
            _ => None,
        }
    }
}

/// The tags of events with fields.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Tag {
    Backward,
    Rescale,
    Unscale,
    Clip,
    OptimizerStep,
    ScalerUpdate,
    SchedulerStep,
    Logged,
    Parameters,
    Checkpoint,
    Evaluation,
    EpochEnd,
    Carry,
    Drop,
    Restore,
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EventVisitor)
    }
}

/// Written out because `epoch_end` is both a plain string and a tag, which a derive can't tell apart.
struct EventVisitor;

impl<'de> Visitor<'de> for EventVisitor {
    type Value = Event;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event: a plain string, or an object with one tag")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Event, E> {
        match text {
            "zero_grad" => Ok(Event::ZeroGrad),
            "epoch_end" => Ok(Event::EpochEnd),
            _ => Err(E::unknown_variant(text, &["zero_grad", "epoch_end"])),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event, A::Error> {
        let tag = map.next_key::<Tag>()?.ok_or_else(|| A::Error::custom("an event without a tag"))?;
        let event = match tag {
            Tag::Backward => Event::Backward(one_of(map.next_value()?, |b: &Backward| {
                [b.loss_sum.is_some(), b.nonfinite.is_some()]
            })?),
            Tag::Rescale => Event::Rescale(map.next_value()?),
            Tag::Unscale => Event::Unscale(map.next_value()?),
            Tag::Clip => Event::Clip(one_of(map.next_value()?, |c: &Clip| [c.norm.is_some(), c.nonfinite.is_some()])?),
            Tag::OptimizerStep => Event::OptimizerStep(map.next_value()?),
            Tag::ScalerUpdate => Event::ScalerUpdate(map.next_value()?),
            Tag::SchedulerStep => Event::SchedulerStep(map.next_value()?),
            Tag::Logged => Event::Logged(map.next_value()?),
            Tag::Parameters => Event::Parameters(map.next_value()?),
            Tag::Checkpoint => Event::Checkpoint(map.next_value()?),
            Tag::Evaluation => Event::Evaluation(map.next_value()?),
            Tag::EpochEnd => Event::EpochEndCounted(map.next_value()?),
            Tag::Carry => Event::Carry(map.next_value()?),
            Tag::Drop => Event::Drop(map.next_value()?),
            Tag::Restore => Event::Restore(map.next_value()?),
        };
        match map.next_key::<IgnoredAny>()? {
            None => Ok(event),
            Some(_) => Err(A::Error::custom("an event with two tags")),
        }
    }
}

/// A number and `nonfinite` stand in for each other: exactly one of them is there.
fn one_of<T, E: Error>(value: T, present: impl Fn(&T) -> [bool; 2]) -> Result<T, E> {
    match present(&value) {
        [true, true] => Err(E::custom("`nonfinite` and the number that it stands in for")),
        [false, false] => Err(E::custom("neither a number nor `nonfinite`")),
        _ => Ok(value),
    }
}

/// `true`, the only value that `nonfinite` may have where a number stands in for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(extend("const" = true))]
pub struct True(bool);

impl Serialize for True {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

impl<'de> Deserialize<'de> for True {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match bool::deserialize(deserializer)? {
            true => Ok(True(true)),
            false => Err(D::Error::custom("`nonfinite` can only be true here")),
        }
    }
}

/// A forward and backward pass over one microbatch.
///
/// Exactly one of `loss_sum` and `nonfinite` is there; `Event`'s reader refuses another shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["loss_sum"]}, {"required": ["nonfinite"]}]))]
pub struct Backward {
    /// What the gradient buffers hold after this backward and its all-reduce; still scaled. \[D\]
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub accumulated: Option<Vector>,
    /// The part of `backward_loss` that is no token loss: balance, z-loss, KL.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub auxiliary_loss: Option<Finite>,
    /// The scalar on which backward was called, before loss scaling.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub backward_loss: Option<Finite>,
    /// Was the forward outside no_sync? PyTorch DDP decides there.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub forward_sync: Option<bool>,
    /// Gradient numerator in the contract's basis. \[D\]
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub gradient_sum: Option<Vector>,
    /// S in force.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub loss_scale: Option<Finite>,
    /// Loss numerator: summed loss over the valid targets, in nats.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub loss_sum: Option<Finite>,
    /// Names this execution.
    pub microbatch: Identifier,
    /// The loss or gradient was not finite.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub nonfinite: Option<True>,
    /// Sequences.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub rows: Option<Count>,
    /// Label positions before shift and mask.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub slots: Option<Count>,
    /// Was this backward outside no_sync?
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub sync: Option<bool>,
    /// Labels that are not the ignore index, before the shift.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub unshifted_targets: Option<Count>,
    /// Labels that take part in the loss.
    pub valid_targets: Count,
    /// The window.
    pub window: Count,
}

impl Backward {
    /// The loss numerator, or `None` where the microbatch was nonfinite.
    pub fn numerator(&self) -> Option<f64> {
        self.loss_sum.map(Finite::get)
    }

    /// Whether this backward really all-reduced: DDP decides at forward, where that was recorded.
    pub fn really_synced(&self) -> Option<bool> {
        self.forward_sync.or(self.sync)
    }
}

/// The gradients accumulated so far were multiplied by `factor`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rescale {
    /// The multiplier.
    pub factor: Finite,
}

/// The loss scale was divided out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unscale {
    /// The S divided out.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub loss_scale: Option<Finite>,
    /// Whether a gradient was found nonfinite.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub nonfinite: Option<bool>,
}

/// The gradients were clipped by their global norm. Exactly one of `norm` and `nonfinite` is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["norm"]}, {"required": ["nonfinite"]}]))]
pub struct Clip {
    /// The bound.
    pub max_norm: Finite,
    /// The norm was not finite.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub nonfinite: Option<True>,
    /// The norm before clipping.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub norm: Option<Finite>,
}

/// The optimizer was called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OptimizerStep {
    /// Used by this step.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub learning_rate: Option<Finite>,
    /// The S that the step divided out itself, as GradScaler.step does without a prior unscale_.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub loss_scale: Option<Finite>,
    /// Whether the weights moved.
    pub outcome: Outcome,
    /// Index among the applied updates, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub update: Option<Count>,
    /// The window.
    pub window: Count,
}

/// Whether an optimizer step moved the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It did.
    Applied,
    /// The gradients were nonfinite and it did not.
    Skipped,
}

/// The loss scaler decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScalerUpdate {
    /// S from now on.
    pub loss_scale: Finite,
}

/// The scheduler ticked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulerStep {
    /// The rate from now on.
    pub learning_rate: Finite,
}

/// What the run itself claims about a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Logged {
    /// The claimed numbers are rounded to so many decimals.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub decimals: Option<Count>,
    /// The count that the run divided by.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub denominator: Option<Count>,
    /// Norm of the gradient, unscaled, before clipping.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub grad_norm: Option<Finite>,
    /// The gradient, unscaled, before clipping. \[D\]
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub gradient: Option<Vector>,
    /// The loss, in nats per target where the recipe is a mean.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub loss: Option<Finite>,
    /// The window.
    pub window: Count,
    /// `loss` is the unweighted mean of that many windows' losses, this one last.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub windows: Option<Count>,
}

/// Values of the basis coordinates now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// \[D\]
    pub values: Vector,
}

/// A saved or evaluated state's label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// Number of applied updates.
    pub update: Count,
}

/// An epoch ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EpochEnd {
    /// How many microbatches the data offered this rank in this epoch.
    pub microbatches: Count,
}

/// End of stream: the partial window is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Carry {
    /// Backward passes of the window on this rank.
    pub backwards: Count,
    /// Sum of the gradient numerators. \[D\]
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub gradient_sum: Option<Vector>,
    /// Sum of the loss numerators.
    pub loss_sum: Finite,
    /// The window's microbatches on this rank, in order.
    pub microbatches: Vec<Identifier>,
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
#[serde(deny_unknown_fields)]
pub struct Dropped {
    /// The window's microbatches on this rank, in order.
    pub microbatches: Vec<Identifier>,
    /// Sum of the valid targets.
    pub valid_targets: Count,
    /// The window.
    pub window: Count,
}

/// Training went back to a saved state: earlier records of this and later windows are superseded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// Updates applied before the state was saved.
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
    /// The window that comes next.
    pub window: Count,
}

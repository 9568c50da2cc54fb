//! The events of a rank, in the order in which they happened (MANIFEST.md §4).
//!
//! The fields of every struct stand in the order of RFC 8785's keys, so that writing them in order is canonical.
mod backward;
mod canonical;
mod claim;
mod clock;
mod tail;

pub use crate::manifest::list::Vector;
pub use backward::Backward;
pub use backward::True;
pub use claim::Logged;
pub use claim::Parameters;
pub use clock::Clip;
pub use clock::EpochEnd;
pub use clock::Label;
pub use clock::OptimizerStep;
pub use clock::Outcome;
pub use clock::Rescale;
pub use clock::Restore;
pub use clock::ScalerUpdate;
pub use clock::SchedulerStep;
pub use clock::Unscale;
pub use tail::Carry;
pub use tail::Dropped;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::de::Error;
use serde::de::IgnoredAny;
use serde::de::MapAccess;
use serde::de::Visitor;
use std::fmt;

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
            Tag::Backward => Event::Backward(map.next_value()?),
            Tag::Rescale => Event::Rescale(map.next_value()?),
            Tag::Unscale => Event::Unscale(map.next_value()?),
            Tag::Clip => Event::Clip(map.next_value()?),
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

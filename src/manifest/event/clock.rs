//! Events that move an update clock, or set one back.
use crate::canonical::Count;
use crate::canonical::Finite;
use crate::manifest::event::backward::True;
use crate::manifest::event::backward::one_of;
use crate::manifest::strict::ObjectOnly;
use crate::manifest::strict::present;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::Serializer;

/// The gradients accumulated so far were multiplied by `factor`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Rescale", deny_unknown_fields)]
pub struct Rescale {
    /// The multiplier.
    pub factor: Finite,
}

/// The loss scale was divided out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Unscale", deny_unknown_fields)]
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
#[serde(remote = "Clip", deny_unknown_fields)]
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
#[serde(remote = "OptimizerStep", deny_unknown_fields)]
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

words! {
    /// Whether an optimizer step moved the weights.
    Outcome {
        /// It did.
        Applied = "applied",
        /// The gradients were nonfinite and it did not.
        Skipped = "skipped",
    }
}

/// The loss scaler decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "ScalerUpdate", deny_unknown_fields)]
pub struct ScalerUpdate {
    /// S from now on.
    pub loss_scale: Finite,
}

/// The scheduler ticked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "SchedulerStep", deny_unknown_fields)]
pub struct SchedulerStep {
    /// The rate from now on.
    pub learning_rate: Finite,
}

/// A saved or evaluated state's label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Label", deny_unknown_fields)]
pub struct Label {
    /// Number of applied updates.
    pub update: Count,
}

/// An epoch ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "EpochEnd", deny_unknown_fields)]
pub struct EpochEnd {
    /// How many microbatches the data offered this rank in this epoch.
    pub microbatches: Count,
}

/// Training went back to a saved state: earlier records of this and later windows are superseded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Restore", deny_unknown_fields)]
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

objects!(Rescale, Unscale, OptimizerStep, ScalerUpdate, SchedulerStep, Label, EpochEnd, Restore);

impl<'de> Deserialize<'de> for Clip {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let clip = Clip::deserialize(ObjectOnly(deserializer))?;
        one_of(clip.norm.is_some(), clip.nonfinite.is_some())?;
        Ok(clip)
    }
}

impl Serialize for Clip {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Clip::serialize(self, serializer)
    }
}

//! A forward and backward pass.
use crate::canonical::Count;
use crate::canonical::Finite;
use crate::manifest::identifier::Identifier;
use crate::manifest::list::Vector;
use crate::manifest::strict::ObjectOnly;
use crate::manifest::strict::present;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde::Serializer;
use serde::de::Deserializer;
use serde::de::Error;

/// A forward and backward pass over one microbatch.
///
/// Exactly one of `loss_sum` and `nonfinite` is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Backward", deny_unknown_fields)]
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

impl<'de> Deserialize<'de> for Backward {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let backward = Backward::deserialize(ObjectOnly(deserializer))?;
        one_of(backward.loss_sum.is_some(), backward.nonfinite.is_some())?;
        Ok(backward)
    }
}

impl Serialize for Backward {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Backward::serialize(self, serializer)
    }
}

/// `true`, the only value that `nonfinite` may have where a number stands in for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(extend("const" = true))]
pub struct True(bool);

impl Serialize for True {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
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

/// A number and `nonfinite` stand in for each other: exactly one of them is there.
pub(super) fn one_of<E: Error>(number: bool, nonfinite: bool) -> Result<(), E> {
    match (number, nonfinite) {
        (true, true) => Err(E::custom("`nonfinite` and the number that it stands in for")),
        (false, false) => Err(E::custom("neither a number nor `nonfinite`")),
        _ => Ok(()),
    }
}

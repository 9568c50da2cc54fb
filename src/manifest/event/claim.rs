//! What the run itself claims.
use crate::canonical::Count;
use crate::canonical::Finite;
use crate::manifest::list::Vector;
use crate::manifest::strict::present;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// What the run itself claims about a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Logged", deny_unknown_fields)]
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
#[serde(remote = "Parameters", deny_unknown_fields)]
pub struct Parameters {
    /// \[D\]
    pub values: Vector,
}

objects!(Logged, Parameters);

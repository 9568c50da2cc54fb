//! The AMP loss scale's policy.
use crate::canonical::Count;
use crate::canonical::Finite;
use crate::manifest::contract::one;
use crate::manifest::contract::words::Refill;
use crate::manifest::strict::present;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// The AMP loss scale S.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "lowercase", remote = "LossScale", deny_unknown_fields)]
pub enum LossScale {
    /// The same S always.
    Static {
        /// S.
        value: Finite,
    },
    /// S grows after clean windows and backs off on overflow (MANIFEST.md §7).
    Dynamic {
        /// The first S.
        initial: Finite,
        /// Growth multiplies S by this.
        growth_factor: Finite,
        /// Backing off multiplies S by this.
        backoff_factor: Finite,
        /// Clean windows in a row before S grows.
        growth_interval: Count,
        /// Clean windows more before the first growth after the start or an overflow (DeepSpeed).
        #[serde(default = "zero")]
        growth_delay: Count,
        /// Overflows before S backs off.
        #[serde(default = "one")]
        hysteresis: Count,
        /// When the hysteresis refills.
        #[serde(default)]
        hysteresis_refill: Refill,
        /// S never falls below.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
        minimum: Option<Finite>,
        /// S never rises above.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
        maximum: Option<Finite>,
    },
}

fn zero() -> Count {
    Count::ZERO
}

objects!(LossScale);

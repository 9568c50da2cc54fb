//! The contract: what the run declared before it began (MANIFEST.md §3).
mod basis;
mod scale;
mod schedule;
mod steps;
mod update;
mod words;

pub use basis::Basis;
pub use scale::LossScale;
pub use schedule::Scheduler;
pub use schedule::SchedulerClock;
pub use steps::AccumulationSteps;
pub use steps::Stage;
pub use update::ClipPolicy;
pub use update::OnSkip;
pub use update::Optimizer;
pub use words::Evidence;
pub use words::Formula;
pub use words::Interval;
pub use words::Move;
pub use words::NumeratorSource;
pub use words::Position;
pub use words::RandomState;
pub use words::Reduction;
pub use words::Refill;
pub use words::Synchronize;
pub use words::Tail;
pub use words::Unobserved;

use crate::canonical::Count;
use crate::canonical::Finite;
use crate::manifest::identifier::Opaque;
use crate::manifest::integer::Integer;
use crate::manifest::limits::IDENTIFIER;
use crate::manifest::strict::map;
use crate::manifest::strict::present;
use crate::manifest::strict::present_word;
use crate::manifest::strict::set;
use crate::manifest::strict::word;
use crate::numeric::rounding::Arithmetic;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// What was declared before the run; the run is judged against it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Contract", deny_unknown_fields)]
pub struct Contract {
    /// The declared recipe.
    pub formula: Formula,
    /// K: microbatches per rank in a full window.
    pub accumulation_steps: AccumulationSteps,
    /// W: data-parallel replicas.
    pub world_size: Count,
    /// What happens to a window that the end of the data leaves with fewer than K.
    pub tail: Tail,
    /// For losses and recorded vectors; weights, norms and learning rates are compared by `relative` alone.
    pub tolerance: DeclaredTolerance,
    /// Arithmetic of forward and backward.
    #[serde(deserialize_with = "word")]
    pub precision: Arithmetic,
    /// Arithmetic in which the loss is computed; default float64 for float64, else float32.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present_word")]
    pub loss_precision: Option<Arithmetic>,
    /// How ranks' gradients are combined; required where W > 1.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub gradient_reduction: Option<Reduction>,
    /// In which linear basis vectors are recorded; required where there are vectors.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub gradient_basis: Option<Basis>,
    /// The AMP loss scale's policy.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub loss_scale: Option<LossScale>,
    /// Clipping by the global L2 norm over all parameters, a tied one once.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub clip: Option<ClipPolicy>,
    /// The optimizer.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub optimizer: Option<Optimizer>,
    /// The learning-rate schedule and its clock.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub scheduler: Option<Scheduler>,
    /// What a skipped update does to the other clocks.
    #[serde(default)]
    pub on_skip: OnSkip,
    /// Which backwards of a window are to all-reduce; default `last` where W > 1.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub synchronize: Option<Synchronize>,
    /// What the recorder cannot see: the rules about it do not run, and the receipt says so.
    #[serde(default, deserialize_with = "set")]
    pub unobserved: BTreeSet<Unobserved>,
    /// Evidence that must be there.
    #[serde(default, deserialize_with = "set")]
    pub require: BTreeSet<Evidence>,
    /// Where `loss_sum` came from.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub numerator_source: Option<NumeratorSource>,
    /// The label that takes no part in the loss.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub ignore_index: Option<Integer>,
    /// What the random streams (dropout) did.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub random_state: Option<RandomState>,
    /// Names and versions of the software that trained.
    #[serde(default, deserialize_with = "map")]
    #[schemars(extend("propertyNames" = {"type": "string", "maxLength": IDENTIFIER, "x-kind": "opaque"}))]
    pub software: BTreeMap<Opaque, Opaque>,
}

/// The tolerance as declared: `|x − ref| ≤ absolute + relative·|ref|`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "DeclaredTolerance", deny_unknown_fields)]
pub struct DeclaredTolerance {
    /// In the unit of what is compared; not negative.
    pub absolute: Finite,
    /// Dimensionless; not negative.
    pub relative: Finite,
}

impl Contract {
    /// The arithmetic in which the loss is computed, declared or by default.
    pub fn loss_arithmetic(&self) -> Arithmetic {
        self.loss_precision.unwrap_or(match self.precision {
            Arithmetic::Float64 => Arithmetic::Float64,
            _ => Arithmetic::Float32,
        })
    }

    /// c: what the reduction makes of a sum over ranks; W for a mean, else 1.
    pub fn reduction_factor(&self) -> u64 {
        match self.gradient_reduction {
            Some(Reduction::Mean) => self.world_size.get(),
            _ => 1,
        }
    }

    /// Whether events of this kind were recorded.
    pub fn observes(&self, kind: Unobserved) -> bool {
        !self.unobserved.contains(&kind)
    }

    /// The contract with every default written out, as it is hashed and as the receipt shows it.
    pub fn with_defaults(mut self) -> Self {
        self.loss_precision = Some(self.loss_arithmetic());
        if self.world_size.get() > 1 {
            self.synchronize.get_or_insert(Synchronize::Last);
        }
        self
    }
}

objects!(Contract, DeclaredTolerance);

fn one() -> Count {
    Count::from(1)
}

//! The contract: what the run declared before it began (MANIFEST.md §3).
use super::identifier::Opaque;
use super::present;
use crate::canonical::{Count, Finite};
use crate::numeric::rounding::Arithmetic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What was declared before the run; the run is judged against it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
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
    pub precision: Arithmetic,
    /// Arithmetic in which the loss is computed; default float64 for float64, else float32.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
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
    #[serde(default)]
    pub unobserved: BTreeSet<Unobserved>,
    /// Evidence that must be there.
    #[serde(default)]
    pub require: BTreeSet<Evidence>,
    /// Where `loss_sum` came from.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub numerator_source: Option<NumeratorSource>,
    /// The label that takes no part in the loss.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub ignore_index: Option<i64>,
    /// What the random streams (dropout) did.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub random_state: Option<RandomState>,
    /// Names and versions of the software that trained.
    #[serde(default)]
    pub software: BTreeMap<String, Opaque>,
}

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[doc = $doc:literal])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        pub enum $name { $($(#[doc = $doc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every value, in the order of the format's table.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// The word that stands for it in a manifest.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }
    };
}

words! {
    /// The recipe by which each microbatch is to be weighted, with its version.
    Formula {
        /// c/N: every target of the window counts the same.
        TokenMean = "token-mean/1",
        /// c/(W·k·n).
        MeanOfMeans = "mean-of-means/1",
        /// c/(W·N_r).
        RankTokenMean = "rank-token-mean/1",
        /// c/(k·Σ_r n(r,i)).
        MicrobatchGlobalMean = "microbatch-global-mean/1",
        /// c/Σu.
        UnshiftedCount = "unshifted-count/1",
        /// c/(W·Σu of the rank).
        RankUnshiftedCount = "rank-unshifted-count/1",
        /// c·u/(n·Σu).
        UnshiftedWeightedMeans = "unshifted-weighted-means/1",
        /// c/Σ slots.
        SlotMean = "slot-mean/1",
        /// c·rows/(Σ rows·n).
        RowWeighted = "row-weighted/1",
        /// c/N of the window before.
        StaleDenominator = "stale-denominator/1",
        /// c.
        Unnormalized = "unnormalized/1",
    }
}
words! {
    /// What happens to a window that the end of the data leaves with fewer than K microbatches.
    Tail {
        /// It is stepped with its own denominator.
        Flush = "flush",
        /// It is kept and goes on in the next epoch or run.
        Carry = "carry",
        /// It is thrown away.
        Drop = "drop",
    }
}
words! {
    /// How ranks' gradients are combined.
    Reduction {
        /// Their mean: c = W.
        Mean = "mean",
        /// Their sum: c = 1.
        Sum = "sum",
    }
}
words! {
    /// Which backwards of a window all-reduce.
    Synchronize {
        /// Only the last.
        Last = "last",
        /// Every one.
        Each = "each",
    }
}
words! {
    /// A kind of event that the recorder cannot see.
    Unobserved {
        /// Gradient clearing.
        ZeroGrad = "zero_grad",
        /// Dividing out the loss scale.
        Unscale = "unscale",
        /// Clipping.
        Clip = "clip",
        /// The loss scaler's update.
        ScalerUpdate = "scaler_update",
        /// The scheduler's tick.
        SchedulerStep = "scheduler_step",
        /// Whether a backward all-reduced.
        Sync = "sync",
    }
}
words! {
    /// A kind of evidence that a run can hold.
    Evidence {
        /// `backward_loss`: what multiplied each loss sum.
        Weights = "weights",
        /// `logged.loss`.
        Loss = "loss",
        /// `logged.denominator`.
        Denominator = "denominator",
        /// `gradient_sum` of the microbatches and `logged.gradient` of the window.
        Gradient = "gradient",
        /// `logged.grad_norm` or `clip.norm`.
        Norm = "norm",
        /// `optimizer_step.learning_rate` or `scheduler_step`.
        LearningRate = "learning_rate",
        /// `backward.accumulated`.
        Accumulated = "accumulated",
        /// `parameters`.
        Parameters = "parameters",
    }
}
words! {
    /// Where `loss_sum` came from.
    NumeratorSource {
        /// Recomputed from the logits.
        Recomputed = "recomputed",
        /// The framework's loss times its divisor: it can hide that divisor's fault.
        ScaledLoss = "scaled-loss",
    }
}
words! {
    /// What the random streams did between microbatches.
    RandomState {
        /// No randomness in forward.
        Disabled = "disabled",
        /// The same masks whatever the partition.
        FixedLayout = "fixed-layout",
        /// Masks follow the partition.
        Live = "live",
    }
}
words! {
    /// What a skipped update does to a clock.
    Move {
        /// Nothing.
        Hold = "hold",
        /// It ticks as if the update had been applied.
        Advance = "advance",
    }
}

impl Default for Move {
    fn default() -> Self {
        Move::Hold
    }
}

/// K, or a schedule of K over windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AccumulationSteps {
    /// The same K in every window.
    Constant(Count),
    /// From each named window on, another K; ascending, the first from window 0.
    Stages(Vec<Stage>),
}

impl AccumulationSteps {
    /// K of a window. Before the first stage the first stage's K.
    pub fn at(&self, window: u64) -> u64 {
        match self {
            AccumulationSteps::Constant(steps) => steps.get(),
            AccumulationSteps::Stages(stages) => {
                let begun = stages.iter().rev().find(|stage| stage.from_window.get() <= window);
                begun.or(stages.first()).map_or(0, |stage| stage.steps.get())
            }
        }
    }
}

/// From which window on there are how many microbatches per rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// First window of the stage.
    pub from_window: Count,
    /// K.
    pub steps: Count,
}

/// The tolerance as declared: `|x − ref| ≤ absolute + relative·|ref|`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeclaredTolerance {
    /// In the unit of what is compared; not negative.
    pub absolute: Finite,
    /// Dimensionless; not negative.
    pub relative: Finite,
}

/// In which linear basis vectors are recorded; D is the dimension.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Basis {
    /// All parameters.
    Complete {
        /// D.
        dimension: Count,
    },
    /// A fixed choice of parameters.
    Coordinates {
        /// D.
        dimension: Count,
    },
    /// A fixed linear projection.
    Sketch {
        /// D.
        dimension: Count,
        /// Names the projection.
        seed: Count,
    },
}

impl Basis {
    /// D.
    pub fn dimension(&self) -> u64 {
        match self {
            Basis::Complete { dimension } | Basis::Coordinates { dimension } | Basis::Sketch { dimension, .. } => {
                dimension.get()
            }
        }
    }

    /// Whether the L2 norm of a recorded vector is the gradient's own.
    pub fn is_complete(&self) -> bool {
        matches!(self, Basis::Complete { .. })
    }
}

/// The AMP loss scale S.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "lowercase", deny_unknown_fields)]
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

/// When the hysteresis refills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Refill {
    /// When S grows.
    #[default]
    Growth,
    /// On every clean window.
    Clean,
}

/// Clipping by global norm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClipPolicy {
    /// The largest global L2 norm left as it is.
    pub max_norm: Finite,
}

/// The optimizer and its constants (MANIFEST.md §7).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "lowercase", deny_unknown_fields)]
#[allow(missing_docs, reason = "the fields carry their field's standard names")]
pub enum Optimizer {
    /// Adam with decoupled weight decay (Loshchilov and Hutter, arXiv:1711.05101).
    Adamw { learning_rate: Finite, beta1: Finite, beta2: Finite, epsilon: Finite, weight_decay: Finite },
    /// Stochastic gradient descent with momentum and L2 decay, as torch.optim.SGD.
    Sgd { learning_rate: Finite, momentum: Finite, weight_decay: Finite },
}

/// The learning-rate schedule (MANIFEST.md §7) and when it ticks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "lowercase", deny_unknown_fields)]
#[allow(missing_docs, reason = "the three clock fields are explained once, at `SchedulerClock`")]
pub enum Scheduler {
    /// Always `peak`.
    Constant {
        /// The rate.
        peak: Finite,
        #[serde(default)]
        interval: Interval,
        #[serde(default = "one")]
        ticks: Count,
        #[serde(default)]
        position: Position,
    },
    /// Warm-up, then a straight line to 0.
    Linear {
        /// The highest rate.
        peak: Finite,
        /// Indices of rising rate.
        warmup_steps: Count,
        /// The index at which the rate is 0.
        total_steps: Count,
        #[serde(default)]
        interval: Interval,
        #[serde(default = "one")]
        ticks: Count,
        #[serde(default)]
        position: Position,
    },
    /// Warm-up, then half a cosine down to `floor`.
    Cosine {
        /// The highest rate.
        peak: Finite,
        /// Indices of rising rate.
        warmup_steps: Count,
        /// The index at which the rate is `floor`.
        total_steps: Count,
        /// The lowest rate.
        floor: Finite,
        #[serde(default)]
        interval: Interval,
        #[serde(default = "one")]
        ticks: Count,
        #[serde(default)]
        position: Position,
    },
    /// Any values: only the clock is checked.
    Recorded {
        #[serde(default)]
        interval: Interval,
        #[serde(default = "one")]
        ticks: Count,
        #[serde(default)]
        position: Position,
    },
}

/// When a scheduler ticks, whatever its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerClock {
    /// Once per update or once per epoch.
    pub interval: Interval,
    /// Ticks per interval; Accelerate's prepared scheduler takes one per process.
    pub ticks: u64,
    /// Before or after the optimizer step.
    pub position: Position,
}

impl Scheduler {
    /// When it ticks.
    pub fn clock(&self) -> SchedulerClock {
        match *self {
            Scheduler::Constant { interval, ticks, position, .. }
            | Scheduler::Linear { interval, ticks, position, .. }
            | Scheduler::Cosine { interval, ticks, position, .. }
            | Scheduler::Recorded { interval, ticks, position } => {
                SchedulerClock { interval, ticks: ticks.get(), position }
            }
        }
    }
}

/// What a scheduler ticks with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Interval {
    /// Every update.
    #[default]
    Update,
    /// Every epoch.
    Epoch,
}

/// On which side of the optimizer step a scheduler ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Position {
    /// The tick sets the next step's rate.
    #[default]
    After,
    /// The tick sets this step's rate.
    Before,
}

/// What a skipped update does to the other clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnSkip {
    /// The scheduler's tick.
    #[serde(default)]
    pub scheduler: Move,
    /// The update counter of `optimizer_step.update`, checkpoints and evaluations.
    #[serde(default)]
    pub update: Move,
}

fn zero() -> Count {
    Count::new(0).expect("bug: 0 is a count")
}

fn one() -> Count {
    Count::new(1).expect("bug: 1 is a count")
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

//! The learning-rate schedule.
use crate::canonical::Count;
use crate::canonical::Finite;
use crate::manifest::contract::one;
use crate::manifest::contract::words::Interval;
use crate::manifest::contract::words::Position;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// The learning-rate schedule (MANIFEST.md §7) and when it ticks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "lowercase", remote = "Scheduler", deny_unknown_fields)]
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

objects!(Scheduler);

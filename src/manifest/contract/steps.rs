//! K: how many microbatches make a full window.
use crate::canonical::Count;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::de::Error;
use serde::de::IntoDeserializer;
use serde::de::SeqAccess;
use serde::de::Visitor;
use serde::de::value::SeqAccessDeserializer;
use std::fmt;

/// K, or a schedule of K over windows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
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
                // Ascending, or refused (GA118).
                let begun = stages.partition_point(|stage| stage.from_window.get() <= window);
                stages.get(begun.saturating_sub(1)).map_or(0, |stage| stage.steps.get())
            }
        }
    }
}

/// From which window on there are how many microbatches per rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Stage", deny_unknown_fields)]
pub struct Stage {
    /// First window of the stage.
    pub from_window: Count,
    /// K.
    pub steps: Count,
}

objects!(Stage);

impl<'de> Deserialize<'de> for AccumulationSteps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Steps;

        impl<'de> Visitor<'de> for Steps {
            type Value = AccumulationSteps;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count, or a list of stages")
            }

            fn visit_u64<E: Error>(self, steps: u64) -> Result<AccumulationSteps, E> {
                Count::deserialize(steps.into_deserializer()).map(AccumulationSteps::Constant)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, stages: A) -> Result<AccumulationSteps, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(stages)).map(AccumulationSteps::Stages)
            }
        }
        deserializer.deserialize_any(Steps)
    }
}

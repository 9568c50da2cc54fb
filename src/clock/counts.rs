//! How often each kind of event stands in a window on one rank: what the receipt shows of the clock.
use crate::manifest::event::Event;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// Events of one rank in one window, by kind; the fields carry the events' tags.
// In the order of their names, for the reason that `receipt/document.rs` gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "each field counts the events of that tag")]
pub struct Counts {
    pub backward: u64,
    pub carry: u64,
    pub checkpoint: u64,
    pub clip: u64,
    pub drop: u64,
    pub epoch_end: u64,
    pub evaluation: u64,
    pub logged: u64,
    pub optimizer_step: u64,
    pub parameters: u64,
    pub rescale: u64,
    pub restore: u64,
    pub scaler_update: u64,
    pub scheduler_step: u64,
    pub unscale: u64,
    pub zero_grad: u64,
}

impl Counts {
    /// Counts one event more.
    pub fn add(&mut self, event: &Event) {
        let count = match event {
            Event::ZeroGrad => &mut self.zero_grad,
            Event::Backward(_) => &mut self.backward,
            Event::Rescale(_) => &mut self.rescale,
            Event::Unscale(_) => &mut self.unscale,
            Event::Clip(_) => &mut self.clip,
            Event::OptimizerStep(_) => &mut self.optimizer_step,
            Event::ScalerUpdate(_) => &mut self.scaler_update,
            Event::SchedulerStep(_) => &mut self.scheduler_step,
            Event::Logged(_) => &mut self.logged,
            Event::Parameters(_) => &mut self.parameters,
            Event::Checkpoint(_) => &mut self.checkpoint,
            Event::Evaluation(_) => &mut self.evaluation,
            Event::EpochEnd | Event::EpochEndCounted(_) => &mut self.epoch_end,
            Event::Carry(_) => &mut self.carry,
            Event::Drop(_) => &mut self.drop,
            Event::Restore(_) => &mut self.restore,
        };
        *count += 1;
    }
}

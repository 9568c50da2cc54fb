//! Optimizers, clipping, loss scaling, schedules: what turns a window's gradient into an update.
//!
//! Everything works on plain slices and knows no tape and no model. A step writes beside the old values and changes
//! them only if every new one is finite; the formulas are those that verdicts depend on (`docs/engine.md`).

pub mod adamw;
pub mod clip;
pub mod loss_scale;
pub mod schedule;
pub mod sgd;

pub use adamw::AdamW;
pub use loss_scale::LossScale;
pub use schedule::Schedule;
pub use sgd::Sgd;

/// A step would have made a parameter or a moment infinite or NaN. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("optimizer step {step} would make element {element} not finite")]
pub struct NotFinite {
    /// The step, counted from 1.
    pub step: u64,
    /// The first such element.
    pub element: usize,
}

impl NotFinite {
    /// The error of step `step`, one of whose buffers has an element that is not finite.
    fn find(step: u64, buffers: &[&mut Vec<f64>]) -> Self {
        let first = buffers.iter().filter_map(|buffer| buffer.iter().position(|x| !x.is_finite())).min();
        Self { step, element: first.expect("bug: all elements are finite") }
    }
}

/// Either optimizer, with its state. Cloning it is a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub enum Optimizer {
    /// AdamW.
    AdamW(AdamW),
    /// SGD with momentum.
    Sgd(Sgd),
}

impl Optimizer {
    /// One step at the given learning rate.
    ///
    /// # Errors
    /// [`NotFinite`]: parameters and state are as they were.
    ///
    /// # Panics
    /// Where the numbers of parameters, gradients and moments differ, which is a bug of the caller.
    pub fn step(&mut self, learning_rate: f64, parameters: &mut [f64], gradients: &[f64]) -> Result<(), NotFinite> {
        match self {
            Self::AdamW(adamw) => adamw.step(learning_rate, parameters, gradients),
            Self::Sgd(sgd) => sgd.step(learning_rate, parameters, gradients),
        }
    }

    /// Steps made.
    #[must_use]
    pub fn steps(&self) -> u64 {
        match self {
            Self::AdamW(adamw) => adamw.state().steps,
            Self::Sgd(sgd) => sgd.state().steps,
        }
    }
}

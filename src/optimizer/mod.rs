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

/// The first element that is not finite, as an error of step `step`.
fn check_finite(step: u64, buffers: &[&[f64]]) -> Result<(), NotFinite> {
    // First without an early exit, which the compiler can vectorise.
    let finite = |buffer: &[f64]| buffer.iter().fold(true, |finite, x| finite & x.is_finite());
    if buffers.iter().all(|buffer| finite(buffer)) {
        return Ok(());
    }
    let element = buffers.iter().filter_map(|buffer| buffer.iter().position(|x| !x.is_finite())).min();
    element.map_or(Ok(()), |element| Err(NotFinite { step, element }))
}

//! The backward pass: a reverse sweep whose parameter gradients are committed together or not at all.

use std::sync::Arc;

use crate::autograd::gradients::Gradients;
use crate::autograd::recompute::{Mismatch, Reruns};
use crate::autograd::reverse::FanOut;
use crate::autograd::tape::{Tape, Var};

/// A backward pass met an infinite or NaN gradient, or adding it overflowed. The gradients are as they were before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the gradient of {parameter} is not finite")]
pub struct Overflow {
    /// The first parameter, in the order of the parameters, in which it shows.
    pub parameter: String,
}

/// Why a backward pass added nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCommitted {
    /// A gradient is not finite.
    #[error(transparent)]
    Overflow(#[from] Overflow),
    /// Something that was run again was not what it was in the forward.
    #[error(transparent)]
    Recompute(#[from] Mismatch),
}

impl Tape<'_> {
    /// [`Self::backward_checked`] for a tape on which nothing is run again.
    ///
    /// # Errors
    /// [`Overflow`]: nothing was added.
    ///
    /// # Panics
    /// Where `gradients` belong to other parameters, which is a bug of the caller, and where something that was run again
    /// came out differently.
    pub fn backward(self, output: Var, seed: f64, gradients: &mut Gradients) -> Result<(), Overflow> {
        self.commit(output, seed, FanOut::Add, gradients).map(|_| ()).map_err(overflow)
    }

    /// [`Self::backward`] without the additions at fan-out, in the order of the reverse sweep: a counterexample, wrong
    /// wherever a computed value is used twice.
    ///
    /// # Errors
    /// As [`Self::backward`].
    ///
    /// # Panics
    /// As [`Self::backward`].
    pub fn backward_overwriting(self, output: Var, seed: f64, gradients: &mut Gradients) -> Result<(), Overflow> {
        self.commit(output, seed, FanOut::Overwrite, gradients).map(|_| ()).map_err(overflow)
    }

    /// Sweeps back from `output` with every element of its cotangent `seed`, adds the parameter gradients to
    /// `gradients` if all of them and all sums are finite and whatever was run again was the same, and releases the tape
    /// with its recipes; its buffers go back to the arena. Returns how often steps were run again.
    ///
    /// # Errors
    /// [`NotCommitted`]: nothing was added.
    ///
    /// # Panics
    /// Where `gradients` belong to other parameters, which is a bug of the caller.
    pub fn backward_checked(self, output: Var, seed: f64, gradients: &mut Gradients) -> Result<Reruns, NotCommitted> {
        self.commit(output, seed, FanOut::Add, gradients)
    }

    fn commit(
        mut self,
        output: Var,
        seed: f64,
        fan_out: FanOut,
        gradients: &mut Gradients,
    ) -> Result<Reruns, NotCommitted> {
        let (own, others) = (&self.parameters.layout, &gradients.layout);
        assert!(Arc::ptr_eq(own, others) || own == others, "bug: gradients of other parameters");
        let swept = self.sweep(output, fan_out, |ct| ct.fill(seed));
        let staged = swept.map_err(NotCommitted::from).and_then(|()| Ok(self.stage(gradients)?));
        self.arena.release();
        staged?;
        std::mem::swap(&mut gradients.values, &mut self.arena.staged);
        Ok(self.arena.reruns)
    }

    /// Writes what the gradients will be beside them.
    fn stage(&mut self, gradients: &Gradients) -> Result<(), Overflow> {
        let mut staged = std::mem::take(&mut self.arena.staged);
        staged.resize(gradients.values.len(), 0.0);
        let mut overflow = None;
        for (id, tensor) in self.parameters.ids().zip(self.parameters.tensors()) {
            let sums = &mut staged[tensor.span.clone()];
            let before = &gradients.values[tensor.span.clone()];
            let reached = self.arena.parameter_vars[id.0].filter(|var| self.arena.reached[var.0]);
            match reached {
                None => sums.copy_from_slice(before),
                Some(var) => {
                    if !add_finite(sums, before, self.arena.cotangents.get(var.0)) && overflow.is_none() {
                        overflow = Some(Overflow { parameter: tensor.name.clone() });
                    }
                }
            }
        }
        self.arena.staged = staged;
        overflow.map_or(Ok(()), Err)
    }
}

fn overflow(not_committed: NotCommitted) -> Overflow {
    match not_committed {
        NotCommitted::Overflow(overflow) => overflow,
        NotCommitted::Recompute(mismatch) => panic!("bug: {mismatch}"),
    }
}

/// Writes `a + b` and says whether every sum is finite.
fn add_finite(sums: &mut [f64], a: &[f64], b: &[f64]) -> bool {
    let mut finite = true;
    for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
        *sum = a + b;
        finite &= sum.is_finite();
    }
    finite
}

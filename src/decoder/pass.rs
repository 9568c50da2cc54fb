//! One microbatch forward and backward into a gradient buffer: what a recorded `backward` event does.

use crate::autograd::arena::Arena;
use crate::autograd::commit::{NotCommitted, Overflow};
use crate::autograd::gradients::Gradients;
use crate::autograd::parameters::Parameters;
use crate::autograd::recompute::{Mistake, Reruns};
use crate::autograd::retained::Retained;
use crate::autograd::tape::{self, Tape};
use crate::decoder::microbatch::Microbatch;
use crate::decoder::model::{Blocks, Decoder};
use crate::numeric::float::Precision;

/// How a pass computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    /// Precision and threads of the tape.
    pub options: tape::Options,
    /// Arithmetic of the loss.
    pub loss_precision: Precision,
}

impl Default for Arithmetic {
    fn default() -> Self {
        Self::in_precision(Precision::Float64)
    }
}

impl Arithmetic {
    /// One thread; the loss in binary64 for binary64, else in binary32, as a contract has it by default.
    #[must_use]
    pub fn in_precision(precision: Precision) -> Self {
        let loss_precision = if precision == Precision::Float64 { precision } else { Precision::Float32 };
        Self { options: tape::Options { precision, threads: 1 }, loss_precision }
    }

    /// The same on another number of threads, with the same bits.
    #[must_use]
    pub fn on_threads(self, threads: usize) -> Self {
        Self { options: tape::Options { threads, ..self.options }, ..self }
    }
}

/// The loss numerator of a microbatch, without a derivative.
///
/// # Panics
/// Where the decoder cannot take the microbatch ([`Decoder::check`]), which is a bug of the caller.
#[must_use]
pub fn loss_sum(
    decoder: &Decoder,
    parameters: &Parameters,
    microbatch: &Microbatch,
    arithmetic: Arithmetic,
    arena: &mut Arena,
) -> f64 {
    let mut tape = Tape::new(parameters, arena, arithmetic.options);
    let loss = decoder.loss_sum(&mut tape, microbatch, arithmetic.loss_precision);
    tape.scalar(loss)
}

/// Runs the microbatch on the current parameters, adds `seed` times the gradient of its summed loss to `gradients`,
/// and returns that loss. `seed` is the loss scale times the microbatch's weight: S·f.
///
/// # Errors
/// [`Overflow`] where a gradient, or its sum with what was there, is not finite: nothing was added.
///
/// # Panics
/// As [`loss_sum`].
pub fn backward(
    decoder: &Decoder,
    parameters: &Parameters,
    microbatch: &Microbatch,
    seed: f64,
    arithmetic: Arithmetic,
    gradients: &mut Gradients,
    arena: &mut Arena,
) -> Result<f64, Overflow> {
    let options = Options { arithmetic, ..Options::default() };
    match backward_with(decoder, parameters, microbatch, seed, options, gradients, arena) {
        Ok(passed) => Ok(passed.loss_sum),
        Err(NotCommitted::Overflow(overflow)) => Err(overflow),
        Err(NotCommitted::Recompute(mismatch)) => panic!("bug: nothing is run again, and yet {mismatch}"),
    }
}

/// How a pass computes, what it runs again and what it drops. By default: binary64, nothing, nothing.
#[derive(Debug, Default)]
pub struct Options<'a> {
    /// Precision and threads.
    pub arithmetic: Arithmetic,
    /// Recompute and dropout.
    pub blocks: Blocks<'a>,
    /// Whether cotangents overwrite each other where a value is used twice, but for what is run again: a counterexample.
    pub overwrites: bool,
    /// What goes wrong between forward and reverse sweep, on purpose.
    pub mistake: Option<Mistake<'a>>,
}

/// What a pass came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passed {
    /// The loss numerator.
    pub loss_sum: f64,
    /// What the tape retained when the loss had been computed.
    pub retained: Retained,
    /// Block runs beyond the forward's.
    pub reruns: Reruns,
}

/// [`backward`] with recompute and dropout.
///
/// # Errors
/// [`NotCommitted`] where a gradient, or its sum with what was there, is not finite, or where a block that was run again
/// was not what it was: nothing was added.
///
/// # Panics
/// As [`loss_sum`].
pub fn backward_with(
    decoder: &Decoder,
    parameters: &Parameters,
    microbatch: &Microbatch,
    seed: f64,
    options: Options<'_>,
    gradients: &mut Gradients,
    arena: &mut Arena,
) -> Result<Passed, NotCommitted> {
    let Options { arithmetic, blocks, overwrites, mistake } = options;
    let mut tape = Tape::new(parameters, arena, arithmetic.options);
    let loss = decoder.loss_sum_with(&mut tape, microbatch, arithmetic.loss_precision, blocks);
    let (loss_sum, retained) = (tape.scalar(loss), tape.retained());
    mistake.into_iter().for_each(|mistake| tape.make(mistake));
    let reruns = if overwrites {
        tape.backward_overwriting(loss, seed, gradients)?;
        Reruns::default()
    } else {
        tape.backward_checked(loss, seed, gradients)?
    };
    Ok(Passed { loss_sum, retained, reruns })
}

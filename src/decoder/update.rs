//! One logical update over any number of microbatches: made whole, or not at all.
//!
//! Each mean loss is differentiated with S·n/N, so that the sum over microbatches is S times the gradient of the mean
//! over all N targets, and its graph is released before the next one begins. Then, once: unscale, global norm, clip,
//! optimizer step, clear, one decision about the loss scale. The gradients are clear before and after, whatever happens.

use crate::autograd::arena::Arena;
use crate::autograd::commit::NotCommitted;
use crate::autograd::gradients::Gradients;
use crate::autograd::parameters::Parameters;
use crate::autograd::recompute::Plan;
use crate::autograd::tape::{Tape, Var};
use crate::decoder::dropout::Dropout;
use crate::decoder::microbatch::Microbatch;
use crate::decoder::model::{Blocks, Decoder, Unfit};
use crate::decoder::outcome::{Applied, Declared, Failed, Outcome, OverflowAt, Refusal, Skipped, admit};
use crate::decoder::pass::Arithmetic;
use crate::optimizer::loss_scale::LossScale;
use crate::optimizer::schedule::Schedule;
use crate::optimizer::{Optimizer, clip};

/// What a forward hands back: the node of the mean loss and the targets it is the mean of.
#[derive(Clone, Copy, Debug)]
pub struct MeanLoss {
    /// A scalar node.
    pub mean: Var,
    /// Its valid targets: must be those declared.
    pub valid_targets: u64,
}

/// How updates are made.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The optimizer with its state.
    pub optimizer: Optimizer,
    /// The loss scale with its state.
    pub loss_scale: LossScale,
    /// The learning rates.
    pub schedule: Schedule,
    /// Limit of the global gradient norm, if there is one.
    pub max_norm: Option<f64>,
    /// Precision and threads.
    pub arithmetic: Arithmetic,
}

/// Parameters with everything that their updates need.
#[derive(Debug)]
pub struct Trainer {
    parameters: Parameters,
    gradients: Gradients,
    recipe: Recipe,
    applied_updates: u64,
    arena: Arena,
}

/// Why the microbatches did not become a gradient.
enum Interrupted<E> {
    Overflow { microbatches_completed: usize, at: OverflowAt },
    Failed(Failed<E>),
}

impl Trainer {
    /// Clear gradients and no update yet.
    #[must_use]
    pub fn new(parameters: Parameters, recipe: Recipe) -> Self {
        let gradients = Gradients::zeros(&parameters);
        Self { parameters, gradients, recipe, applied_updates: 0, arena: Arena::default() }
    }

    /// The parameters now.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The gradients: clear between updates, unless somebody else wrote into them.
    #[must_use]
    pub fn gradients(&self) -> &Gradients {
        &self.gradients
    }

    /// The gradients, to be changed; an update refuses to begin on any that are not clear.
    #[must_use]
    pub fn gradients_mut(&mut self) -> &mut Gradients {
        &mut self.gradients
    }

    /// Optimizer and loss scale with their states, schedule and limits.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Updates applied so far: also the index of the next step in the schedule. A skipped one does not count.
    #[must_use]
    pub fn applied_updates(&self) -> u64 {
        self.applied_updates
    }

    /// The rate that the next applied update will have.
    #[must_use]
    pub fn next_learning_rate(&self) -> f64 {
        self.recipe.schedule.rate(self.applied_updates)
    }

    /// One update of a decoder's parameters over the given microbatches.
    ///
    /// # Errors
    /// [`Failed`]: nothing changed; the gradients are clear, or as dirty as they were found.
    pub fn update(&mut self, decoder: &Decoder, microbatches: &[Microbatch]) -> Result<Outcome, Failed<Unfit>> {
        self.update_recomputing(decoder, microbatches, Plan::Record, None)
    }

    /// [`Self::update`] with recompute and dropout. The live counter that the forwards advanced is not set back when the
    /// update is skipped or fails; a retry with the same masks does that itself.
    ///
    /// # Errors
    /// [`Failed`]: nothing changed; the gradients are clear, or as dirty as they were found.
    pub fn update_recomputing(
        &mut self,
        decoder: &Decoder,
        microbatches: &[Microbatch],
        recompute: Plan,
        mut dropout: Option<&mut Dropout>,
    ) -> Result<Outcome, Failed<Unfit>> {
        let declared: Vec<Declared> = microbatches.iter().map(Declared::from).collect();
        let loss_precision = self.recipe.arithmetic.loss_precision;
        self.update_with(&declared, |tape, index| {
            let microbatch = &microbatches[index];
            decoder.check(microbatch)?;
            let blocks = Blocks { recompute, dropout: dropout.as_deref_mut() };
            let sum = decoder.loss_sum_with(tape, microbatch, loss_precision, blocks);
            let valid_targets = microbatch.valid_targets();
            Ok(MeanLoss { mean: tape.divide(sum, valid_targets as f64), valid_targets })
        })
    }

    /// One update with the caller's forward, which is called with an empty tape and the index of each microbatch in
    /// turn. What else the forward does (drawing random words, say) is not undone when the update is skipped or fails.
    ///
    /// # Errors
    /// [`Failed`]: nothing changed; the gradients are clear, or as dirty as they were found.
    pub fn update_with<E>(
        &mut self,
        declared: &[Declared],
        forward: impl FnMut(&mut Tape<'_>, usize) -> Result<MeanLoss, E>,
    ) -> Result<Outcome, Failed<E>> {
        let result = self.attempt(declared, forward);
        // Whatever the end; only gradients that were found dirty are somebody else's.
        if !matches!(result, Err(Interrupted::Failed(Failed::Refused(Refusal::DirtyGradients)))) {
            self.gradients.clear();
        }
        match result {
            Ok(applied) => Ok(Outcome::Applied(applied)),
            Err(Interrupted::Overflow { microbatches_completed, at }) => {
                let scale = self.recipe.loss_scale.after_overflow();
                Ok(Outcome::Skipped(Skipped { microbatches_completed, at, scale }))
            }
            Err(Interrupted::Failed(failed)) => Err(failed),
        }
    }

    fn attempt<E>(
        &mut self,
        declared: &[Declared],
        forward: impl FnMut(&mut Tape<'_>, usize) -> Result<MeanLoss, E>,
    ) -> Result<Applied, Interrupted<E>> {
        let refused = |refusal| Interrupted::Failed(Failed::Refused(refusal));
        let valid_targets = admit(declared).map_err(refused)?;
        if !self.gradients.is_clear() {
            return Err(refused(Refusal::DirtyGradients));
        }
        let (mean_losses, seeds) = self.accumulate(declared, valid_targets, forward)?;
        self.gradients.divide(self.recipe.loss_scale.value());
        let norm = clip::global_norm(self.gradients.values());
        if !norm.is_finite() {
            return Err(Interrupted::Overflow { microbatches_completed: declared.len(), at: OverflowAt::Norm });
        }
        let clip_coefficient = self.recipe.max_norm.map_or(1.0, |max_norm| clip::coefficient(norm, max_norm));
        if clip_coefficient < 1.0 {
            self.gradients.scale(clip_coefficient);
        }
        let learning_rate = self.next_learning_rate();
        let step = self.recipe.optimizer.step(learning_rate, self.parameters.values_mut(), self.gradients.values());
        step.map_err(|not_finite| Interrupted::Failed(Failed::Step(not_finite)))?;
        self.applied_updates += 1;
        let scale = self.recipe.loss_scale.after_clean();
        Ok(Applied { valid_targets, mean_losses, seeds, norm, clip_coefficient, learning_rate, scale })
    }

    /// Adds S times the gradient of the mean over all targets; gives each microbatch's mean loss and seed.
    fn accumulate<E>(
        &mut self,
        declared: &[Declared],
        valid_targets: u64,
        mut forward: impl FnMut(&mut Tape<'_>, usize) -> Result<MeanLoss, E>,
    ) -> Result<(Vec<f64>, Vec<f64>), Interrupted<E>> {
        let (mut mean_losses, mut seeds) = (Vec::with_capacity(declared.len()), Vec::with_capacity(declared.len()));
        for (microbatch, declared) in declared.iter().enumerate() {
            let mut tape = Tape::new(&self.parameters, &mut self.arena, self.recipe.arithmetic.options);
            let loss = forward(&mut tape, microbatch)
                .map_err(|source| Interrupted::Failed(Failed::Forward { microbatch, source }))?;
            let (declared, counted) = (declared.valid_targets, loss.valid_targets);
            if counted != declared {
                let refusal = Refusal::CountDiffers { microbatch, declared, counted };
                return Err(Interrupted::Failed(Failed::Refused(refusal)));
            }
            let overflow = |at| Interrupted::Overflow { microbatches_completed: microbatch, at };
            let mean = tape.scalar(loss.mean);
            if !mean.is_finite() {
                return Err(overflow(OverflowAt::Loss));
            }
            let seed = self.recipe.loss_scale.value() * declared as f64 / valid_targets as f64;
            tape.backward_checked(loss.mean, seed, &mut self.gradients).map_err(
                |not_committed| match not_committed {
                    NotCommitted::Overflow(nonfinite) => overflow(OverflowAt::Backward(nonfinite)),
                    NotCommitted::Recompute(source) => Interrupted::Failed(Failed::Recompute { microbatch, source }),
                },
            )?;
            mean_losses.push(mean);
            seeds.push(seed);
        }
        Ok((mean_losses, seeds))
    }
}

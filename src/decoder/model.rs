//! The forward computation: tokens → embedding → blocks → norm → tied head.
//!
//! Formulas: `fixtures/golden/README.md`, "Model". Every residual and every tensor that is used twice is a fan-out on
//! the tape; nothing is in place.

use std::sync::Arc;

use crate::autograd::parameters::Parameters;
use crate::autograd::recompute::Plan;
use crate::autograd::rotary::{Pairing, RotaryTable};
use crate::autograd::rows::Rows;
use crate::autograd::tape::{Tape, Var};
use crate::decoder::config::{Config, InvalidConfig};
use crate::decoder::dropout::Dropout;
use crate::decoder::initial::{self, BlockTensor};
use crate::decoder::microbatch::Microbatch;
use crate::numeric::float::Precision;

/// A decoder-only transformer: RMSNorm, rotary positions, causal attention, SwiGLU, tied head, no biases.
#[derive(Clone, Debug)]
pub struct Decoder {
    config: Config,
    rotary: Arc<RotaryTable>,
}

/// A microbatch that this decoder cannot take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A row is longer than the context.
    #[error("a row of {length} positions, and a context of {context}")]
    TooLong {
        /// Positions of the longest row.
        length: usize,
        /// The longest row that the decoder takes.
        context: usize,
    },
    /// An id or a target is outside the vocabulary.
    #[error("token {token}, and a vocabulary of {vocabulary}")]
    Unknown {
        /// The first such token.
        token: u32,
        /// Number of tokens that the decoder knows.
        vocabulary: usize,
    },
}

/// How a forward treats its blocks: what is run again in the reverse sweep, and what is dropped. By default neither.
#[derive(Debug, Default)]
pub struct Blocks<'a> {
    /// What is recorded, and what is run again.
    pub recompute: Plan,
    /// Dropout with its live counter, which the forward advances.
    pub dropout: Option<&'a mut Dropout>,
}

/// Values along the way, for inspection: of each position the residual stream and the last norm.
#[derive(Clone, Debug)]
pub struct Trace {
    /// After the embedding.
    pub embedded: Var,
    /// Of each block: after attention, after the feed-forward part.
    pub blocks: Vec<(Var, Var)>,
    /// After the last norm: what the head reads.
    pub hidden: Var,
}

impl Decoder {
    /// A decoder of the given sizes.
    ///
    /// # Errors
    /// [`InvalidConfig`] where there can be none.
    pub fn new(config: Config) -> Result<Self, InvalidConfig> {
        config.check()?;
        let table = RotaryTable::new(config.context, config.head_dimension(), config.rotary_base, Pairing::Half);
        Ok(Self { config, rotary: Arc::new(table) })
    }

    /// Its sizes.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its parameters before training.
    #[must_use]
    pub fn initial_parameters(&self, seed: u64) -> Parameters {
        initial::parameters(&self.config, seed)
    }

    /// Whether it can take a microbatch. The methods that follow panic on one that it cannot.
    ///
    /// # Errors
    /// [`Unfit`]: the first reason why not.
    pub fn check(&self, microbatch: &Microbatch) -> Result<(), Unfit> {
        let Config { context, vocabulary, .. } = self.config;
        let length = microbatch.rows.longest();
        if length > context {
            return Err(Unfit::TooLong { length, context });
        }
        let mut tokens = microbatch.ids().iter().chain(microbatch.targets().iter().flatten());
        match tokens.find(|&&token| token as usize >= vocabulary) {
            Some(&token) => Err(Unfit::Unknown { token, vocabulary }),
            None => Ok(()),
        }
    }

    /// The embedded tokens: positions × width.
    pub fn embed(&self, tape: &mut Tape<'_>, microbatch: &Microbatch) -> Var {
        let table = tape.parameter(initial::EMBED);
        tape.embedding(table, Arc::clone(&microbatch.ids))
    }

    /// Block `index` from residual stream to residual stream (positions × width): attention, then feed-forward.
    pub fn block(&self, tape: &mut Tape<'_>, index: usize, x: Var, rows: &Arc<Rows>) -> Var {
        let x = self.attend(tape, index, x, rows, None);
        self.feed_forward(tape, index, x, None)
    }

    fn attend(
        &self,
        tape: &mut Tape<'_>,
        block: usize,
        x: Var,
        rows: &Arc<Rows>,
        dropout: Option<&mut Dropout>,
    ) -> Var {
        let h = self.norm(tape, block, BlockTensor::Norm1, x);
        let q = linear(tape, block, BlockTensor::Query, h);
        let k = linear(tape, block, BlockTensor::Key, h);
        let v = linear(tape, block, BlockTensor::Value, h);
        let q = tape.rope(q, Arc::clone(&self.rotary), Arc::clone(rows));
        let k = tape.rope(k, Arc::clone(&self.rotary), Arc::clone(rows));
        let attended = tape.causal_attention(q, k, v, Arc::clone(rows), self.config.heads);
        let out = linear(tape, block, BlockTensor::Output, attended);
        let out = dropped(tape, out, dropout);
        tape.add(x, out)
    }

    fn feed_forward(&self, tape: &mut Tape<'_>, block: usize, x: Var, dropout: Option<&mut Dropout>) -> Var {
        let h = self.norm(tape, block, BlockTensor::Norm2, x);
        let gate = linear(tape, block, BlockTensor::Gate, h);
        let up = linear(tape, block, BlockTensor::Up, h);
        let inner = tape.swiglu(gate, up);
        let out = linear(tape, block, BlockTensor::Down, inner);
        let out = dropped(tape, out, dropout);
        tape.add(x, out)
    }

    fn norm(&self, tape: &mut Tape<'_>, block: usize, gain: BlockTensor, x: Var) -> Var {
        let gain = tape.parameter(initial::block_tensor(block, gain));
        tape.rms_norm(x, gain, self.config.rms_epsilon)
    }

    /// The last norm of the residual stream: what the head reads.
    pub fn final_norm(&self, tape: &mut Tape<'_>, x: Var) -> Var {
        let gain = tape.parameter(initial::final_norm(&self.config));
        tape.rms_norm(x, gain, self.config.rms_epsilon)
    }

    /// From tokens to what the head reads, with everything in between.
    pub fn trace(&self, tape: &mut Tape<'_>, microbatch: &Microbatch) -> Trace {
        let embedded = self.embed(tape, microbatch);
        let mut blocks = Vec::with_capacity(self.config.blocks);
        let mut x = embedded;
        for block in 0..self.config.blocks {
            let attended = self.attend(tape, block, x, &microbatch.rows, None);
            x = self.feed_forward(tape, block, attended, None);
            blocks.push((attended, x));
        }
        Trace { embedded, blocks, hidden: self.final_norm(tape, x) }
    }

    /// From tokens to what the head reads: positions × width.
    pub fn hidden(&self, tape: &mut Tape<'_>, microbatch: &Microbatch) -> Var {
        self.hidden_with(tape, microbatch, Blocks::default())
    }

    /// [`Self::hidden`] with recompute and dropout.
    pub fn hidden_with(&self, tape: &mut Tape<'_>, microbatch: &Microbatch, blocks: Blocks<'_>) -> Var {
        let Blocks { recompute, mut dropout } = blocks;
        if let Some(dropout) = dropout.as_deref_mut() {
            dropout.begin_forward();
        }
        let x = self.embed(tape, microbatch);
        let rows = &microbatch.rows;
        let x = tape.chain(x, self.config.blocks, recompute, |tape, block, x| {
            let x = self.attend(tape, block, x, rows, dropout.as_deref_mut());
            self.feed_forward(tape, block, x, dropout.as_deref_mut())
        });
        self.final_norm(tape, x)
    }

    /// Logits through the tied table: positions × vocabulary.
    pub fn logits(&self, tape: &mut Tape<'_>, hidden: Var) -> Var {
        let table = tape.parameter(initial::EMBED);
        tape.linear(hidden, table)
    }

    /// The loss numerator: cross-entropy summed over the valid targets, in `loss_precision`. In binary64 head and
    /// loss are fused, with the same bits.
    ///
    /// # Panics
    /// Where the decoder cannot take the microbatch ([`Self::check`]), which is a bug of the caller.
    pub fn loss_sum(&self, tape: &mut Tape<'_>, microbatch: &Microbatch, loss_precision: Precision) -> Var {
        self.loss_sum_with(tape, microbatch, loss_precision, Blocks::default())
    }

    /// [`Self::loss_sum`] with recompute and dropout.
    ///
    /// # Panics
    /// As [`Self::loss_sum`].
    pub fn loss_sum_with(
        &self,
        tape: &mut Tape<'_>,
        microbatch: &Microbatch,
        loss_precision: Precision,
        blocks: Blocks<'_>,
    ) -> Var {
        let hidden = self.hidden_with(tape, microbatch, blocks);
        let targets = Arc::clone(&microbatch.targets);
        if (tape.options().precision, loss_precision) == (Precision::Float64, Precision::Float64) {
            let table = tape.parameter(initial::EMBED);
            return tape.head_cross_entropy(hidden, table, targets);
        }
        let logits = self.logits(tape, hidden);
        tape.cross_entropy(logits, targets, loss_precision)
    }
}

/// What a dropout site leaves of `x`. Without dropout, or at probability 0, there is no site and no word is drawn.
fn dropped(tape: &mut Tape<'_>, x: Var, dropout: Option<&mut Dropout>) -> Var {
    match dropout.filter(|dropout| dropout.probability() > 0.0) {
        Some(dropout) => {
            let ticket = dropout.draw(tape.view(x).shape.len());
            tape.dropout(x, ticket)
        }
        None => x,
    }
}

fn linear(tape: &mut Tape<'_>, block: usize, weight: BlockTensor, x: Var) -> Var {
    let weight = tape.parameter(initial::block_tensor(block, weight));
    tape.linear(x, weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused() {
        let decoder = Decoder::new(Config::default()).unwrap();
        assert_eq!(decoder.check(&Microbatch::of_texts(&["12345678"])), Ok(()));
        let long = Microbatch::of_texts(&["123456789"]);
        assert_eq!(decoder.check(&long), Err(Unfit::TooLong { length: 9, context: 8 }));
        let rows = || Rows::grid(1, 1);
        let id = Microbatch::new(vec![266], vec![None], rows()).unwrap();
        assert_eq!(decoder.check(&id), Err(Unfit::Unknown { token: 266, vocabulary: 266 }));
        let target = Microbatch::new(vec![265], vec![Some(300)], rows()).unwrap();
        assert_eq!(decoder.check(&target), Err(Unfit::Unknown { token: 300, vocabulary: 266 }));
    }
}

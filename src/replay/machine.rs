//! What everything is executed on: the decoder, its synthetic rows, the arithmetic, and the state before the first
//! window.
use super::rows::Batch;
use super::rows::Source;
use crate::autograd::arena::Arena;
use crate::autograd::commit::Overflow;
use crate::autograd::gradients::Gradients;
use crate::autograd::parameters::Parameters;
use crate::decoder::Config;
use crate::decoder::Decoder;
use crate::decoder::config::InvalidConfig;
use crate::decoder::pass;
use crate::manifest::contract::Contract;
use crate::manifest::contract::Optimizer as DeclaredOptimizer;
use crate::manifest::replay::ReplayOptions;
use crate::numeric::float::Precision;
use crate::numeric::rounding::Arithmetic;
use crate::optimizer::AdamW;
use crate::optimizer::Optimizer;
use crate::optimizer::Sgd;
use crate::optimizer::adamw;
use crate::optimizer::sgd;

/// Tokens that the synthetic rows need: all bytes, padding, and the token that begins a row.
pub const LEAST_VOCABULARY: usize = 258;

/// Parameters of the largest decoder that is built: 32 MiB of binary64.
pub const MOST_PARAMETERS: usize = 1 << 22;

/// What the optimizer changes.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The decoder's parameters.
    pub parameters: Parameters,
    /// The optimizer with its moments.
    pub optimizer: Optimizer,
}

/// The decoder with all that an execution needs. It never changes.
#[derive(Debug)]
pub struct Machine {
    decoder: Decoder,
    source: Source,
    arithmetic: pass::Arithmetic,
    initial: State,
}

/// How cotangents meet where a value is used twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sweep {
    /// They add.
    #[default]
    Adding,
    /// The last one wins: wrong on purpose.
    Overwriting,
}

/// A decoder that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unbuildable {
    /// The synthetic rows hold every byte and two tokens more.
    #[error("a vocabulary of {0}, and the synthetic rows need {LEAST_VOCABULARY} tokens")]
    Vocabulary(usize),
    /// More parameters than a replay is meant for.
    #[error("more than {MOST_PARAMETERS} parameters")]
    TooLarge,
    /// Sizes that do not go together.
    #[error(transparent)]
    Config(#[from] InvalidConfig),
}

impl Machine {
    /// The machine that a manifest asks for.
    ///
    /// # Errors
    /// [`Unbuildable`]: why there can be none.
    pub fn new(contract: &Contract, options: &ReplayOptions) -> Result<Self, Unbuildable> {
        let size = |count: crate::canonical::Count| usize::try_from(count.get()).unwrap_or(usize::MAX);
        let config = Config {
            vocabulary: size(options.vocabulary),
            width: size(options.width),
            heads: size(options.heads),
            blocks: size(options.blocks),
            feed_forward: size(options.feed_forward),
            context: size(options.context),
            ..Config::default()
        };
        if config.vocabulary < LEAST_VOCABULARY {
            return Err(Unbuildable::Vocabulary(config.vocabulary));
        }
        if parameters(&config).is_none_or(|parameters| parameters > MOST_PARAMETERS) || config.context > MOST_PARAMETERS
        {
            return Err(Unbuildable::TooLarge);
        }
        let source = Source { seed: options.seed.get(), context: config.context };
        let decoder = Decoder::new(config)?;
        let parameters = decoder.initial_parameters(source.seed);
        let optimizer = optimizer(contract.optimizer.as_ref(), parameters.values().len());
        Ok(Machine {
            decoder,
            source,
            arithmetic: pass::Arithmetic {
                loss_precision: precision(contract.loss_arithmetic()),
                ..pass::Arithmetic::in_precision(precision(contract.precision))
            },
            initial: State { parameters, optimizer },
        })
    }

    /// Parameters and moments before the first window.
    pub fn initial(&self) -> &State {
        &self.initial
    }

    /// Runs all rows of the batches on the parameters and adds `seed` times the gradient of their summed loss.
    ///
    /// # Errors
    /// [`Overflow`]: a gradient was infinite or NaN; what is in `gradients` then is of no use.
    pub fn backward(
        &self,
        parameters: &Parameters,
        batches: impl IntoIterator<Item = Batch>,
        seed: f64,
        sweep: Sweep,
        gradients: &mut Gradients,
        arena: &mut Arena,
    ) -> Result<(), Overflow> {
        let backward = match sweep {
            Sweep::Adding => pass::backward,
            Sweep::Overwriting => pass::backward_overwriting,
        };
        let mut result = Ok(());
        self.source.slices(batches, |rows| {
            result = backward(&self.decoder, parameters, rows, seed, self.arithmetic, gradients, arena).map(|_| ());
            result.is_ok()
        });
        result
    }
}

/// Scalars of a decoder; `None` where they cannot be counted.
fn parameters(config: &Config) -> Option<usize> {
    let Config { vocabulary, width, feed_forward, blocks, .. } = *config;
    let matrices =
        width.checked_mul(width)?.checked_mul(4)?.checked_add(width.checked_mul(feed_forward)?.checked_mul(3)?)?;
    let block = matrices.checked_add(width.checked_mul(2)?)?;
    vocabulary.checked_mul(width)?.checked_add(block.checked_mul(blocks)?)?.checked_add(width)
}

/// The declared optimizer, else AdamW with the values of `golden/README.md`.
pub(super) fn optimizer(declared: Option<&DeclaredOptimizer>, parameters: usize) -> Optimizer {
    match declared {
        None => Optimizer::AdamW(AdamW::new(adamw::Settings::default(), parameters)),
        Some(DeclaredOptimizer::Adamw { beta1, beta2, epsilon, weight_decay, .. }) => {
            let settings = adamw::Settings {
                beta1: beta1.get(),
                beta2: beta2.get(),
                epsilon: epsilon.get(),
                weight_decay: weight_decay.get(),
            };
            Optimizer::AdamW(AdamW::new(settings, parameters))
        }
        Some(DeclaredOptimizer::Sgd { momentum, weight_decay, .. }) => {
            let settings = sgd::Settings { momentum: momentum.get(), weight_decay: weight_decay.get() };
            Optimizer::Sgd(Sgd::new(settings, parameters))
        }
    }
}

/// The emulated precision of a declared arithmetic.
fn precision(arithmetic: Arithmetic) -> Precision {
    match arithmetic {
        Arithmetic::Float64 => Precision::Float64,
        Arithmetic::Float32 => Precision::Float32,
        Arithmetic::Bfloat16 => Precision::Bfloat16,
        Arithmetic::Float16 => Precision::Float16,
    }
}

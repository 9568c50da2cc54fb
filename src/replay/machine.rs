//! What everything is executed on: the decoder, its synthetic rows, the arithmetic, and the state before the first
//! window.
use super::fault::Fault;
use super::fault::FaultKind;
use super::rows::Batch;
use super::rows::Source;
use crate::autograd::arena::Arena;
use crate::autograd::commit::NotCommitted;
use crate::autograd::gradients::Gradients;
use crate::autograd::parameters::Parameters;
use crate::autograd::recompute::Plan;
use crate::decoder::Blocks;
use crate::decoder::Config;
use crate::decoder::Decoder;
use crate::decoder::Dropout;
use crate::decoder::Microbatch;
use crate::decoder::config::InvalidConfig;
use crate::decoder::pass;
use crate::decoder::pass::Passed;
use crate::manifest::contract::Contract;
use crate::manifest::contract::Optimizer as DeclaredOptimizer;
use crate::manifest::replay::Recompute;
use crate::manifest::replay::ReplayOptions;
use crate::numeric::float::Precision;
use crate::numeric::rounding::Arithmetic;
use crate::optimizer::AdamW;
use crate::optimizer::Optimizer;
use crate::optimizer::Sgd;
use crate::optimizer::adamw;
use crate::optimizer::sgd;
use std::num::NonZeroUsize;

/// Tokens that the synthetic rows need: all bytes, padding, and the token that begins a row.
pub const LEAST_VOCABULARY: usize = 258;

/// Parameters of the largest decoder that is built: 32 MiB of binary64.
pub const MOST_PARAMETERS: usize = 1 << 22;

/// Blocks of the deepest decoder that is built, twice those of the deepest in use. What is run again nests, with one
/// snapshot as deep as there are blocks, and in a chain of thousands that would be more than a thread's stack holds.
pub const MOST_BLOCKS: usize = 256;

/// What the optimizer changes.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The decoder's parameters.
    pub parameters: Parameters,
    /// The optimizer with its moments.
    pub optimizer: Optimizer,
}

impl State {
    /// Bytes that a rank's parameters, moments and buffers take, about.
    pub fn bytes(&self) -> usize {
        // Parameters, gradients, and the optimizer's moments with what a step writes beside them.
        const COPIES: usize = 7;
        COPIES * size_of_val(self.parameters.values())
    }
}

/// The decoder with all that an execution needs. It never changes.
#[derive(Debug)]
pub struct Machine {
    decoder: Decoder,
    source: Source,
    arithmetic: pass::Arithmetic,
    recompute: Plan,
    dropout: f64,
    initial: State,
    fault: Option<Fault>,
}

/// How cotangents meet where a value is used twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sweep {
    /// They add.
    #[default]
    Adding,
    /// The last one wins: wrong on purpose.
    Overwriting,
    /// They add, but dropout counts its words through the microbatch and not in each row: other masks for the same
    /// targets in another partition. Wrong on purpose; without dropout it is [`Sweep::Adding`].
    Repartitioned,
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
    /// Deeper than a replay can be.
    #[error("{0} blocks, more than {MOST_BLOCKS}")]
    TooDeep(usize),
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
        if config.blocks > MOST_BLOCKS {
            return Err(Unbuildable::TooDeep(config.blocks));
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
            recompute: plan(options.recompute),
            dropout: options.dropout.get(),
            initial: State { parameters, optimizer },
            fault: None,
        })
    }

    /// The same machine with a fault.
    #[must_use]
    pub fn with_fault(self, fault: Fault) -> Self {
        Machine { fault: Some(fault), ..self }
    }

    /// Parameters and moments before the first window.
    pub fn initial(&self) -> &State {
        &self.initial
    }

    /// The probability with which dropout makes an element 0.
    pub fn dropout(&self) -> f64 {
        self.dropout
    }

    /// Positions of a full row.
    pub fn context(&self) -> usize {
        self.source.context
    }

    /// What is recorded in a forward, and what is run again in reverse.
    pub fn recompute(&self) -> Plan {
        self.recompute
    }

    /// The same machine with another plan; no number that comes out of it is another.
    pub(super) fn recomputing(&self, recompute: Plan) -> Self {
        let (decoder, initial) = (self.decoder.clone(), self.initial.clone());
        Machine { decoder, recompute, initial, ..*self }
    }

    /// Runs all rows of the batches on the parameters and adds `seed` times the gradient of their summed loss. With
    /// dropout each row has words of its own, wherever it stands.
    ///
    /// # Errors
    /// [`NotCommitted`]: a gradient was infinite or NaN, or what was run again came out differently; what is in
    /// `gradients` then is of no use.
    pub fn backward(
        &self,
        parameters: &Parameters,
        batches: impl IntoIterator<Item = Batch>,
        seed: f64,
        sweep: Sweep,
        gradients: &mut Gradients,
        arena: &mut Arena,
    ) -> Result<(), NotCommitted> {
        let mut batches = batches.into_iter().peekable();
        let kind = self.fault_of(batches.peek());
        let mut result = Ok(());
        let mut pass = |rows: &Microbatch, dropout: Option<&mut Dropout>| {
            result = self.pass(parameters, rows, seed, sweep, dropout, kind, gradients, arena).map(|_| ());
            result.is_ok()
        };
        if self.dropout == 0.0 {
            self.source.slices(batches, |rows| pass(rows, None));
        } else if sweep == Sweep::Repartitioned {
            for batch in batches {
                let mut dropout = self.words(self.source.words(batch));
                let mut goes_on = true;
                self.source.slices([batch], |rows| {
                    goes_on = pass(rows, Some(&mut dropout));
                    goes_on
                });
                if !goes_on {
                    break;
                }
            }
        } else {
            self.source.rows(batches, |seed, row| pass(row, Some(&mut self.words(seed))));
        }
        result
    }

    fn words(&self, seed: u64) -> Dropout {
        Dropout::new(self.dropout, seed).expect("bug: a probability that was let in")
    }

    fn fault_of(&self, first: Option<&Batch>) -> Option<FaultKind> {
        self.fault.filter(|fault| fault.befalls(first)).map(|fault| fault.kind)
    }

    #[allow(clippy::too_many_arguments, reason = "two more than a pass has")]
    fn pass(
        &self,
        parameters: &Parameters,
        rows: &Microbatch,
        seed: f64,
        sweep: Sweep,
        dropout: Option<&mut Dropout>,
        fault: Option<FaultKind>,
        gradients: &mut Gradients,
        arena: &mut Arena,
    ) -> Result<Passed, NotCommitted> {
        let overwrites = sweep == Sweep::Overwriting;
        // Inside what is run again nothing is overwritten.
        let recompute = if overwrites { Plan::Record } else { self.recompute };
        let blocks = Blocks { recompute, dropout };
        let changed = fault.and_then(|fault| fault.parameters(parameters));
        let mistake = fault.map(|fault| fault.mistake(changed.as_ref()));
        let options = pass::Options { arithmetic: self.arithmetic, blocks, overwrites, mistake };
        pass::backward_with(&self.decoder, parameters, rows, seed, options, gradients, arena)
    }

    /// One pass over one full row, the first of the first microbatch, at the initial parameters.
    pub(super) fn probe(&self) -> Result<(Passed, Gradients), NotCommitted> {
        let context = self.source.context as u64;
        let batch = Batch { window: 0, rank: 0, index: 0, targets: context };
        let (mut gradients, mut arena) = (Gradients::zeros(&self.initial.parameters), Arena::default());
        let mut passed = None;
        self.source.rows([batch], |seed, row| {
            let mut dropout = (self.dropout > 0.0).then(|| self.words(seed));
            let parameters = &self.initial.parameters;
            let seed = 1.0 / context as f64;
            let (gradients, arena) = (&mut gradients, &mut arena);
            let fault = self.fault_of(Some(&batch));
            passed = Some(self.pass(parameters, row, seed, Sweep::Adding, dropout.as_mut(), fault, gradients, arena));
            true
        });
        Ok((passed.expect("bug: a row of no target")?, gradients))
    }
}

/// What a manifest asks to recompute. A count of 0 was refused when it was read.
fn plan(recompute: Recompute) -> Plan {
    let count = |count: crate::canonical::Count| {
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN)
    };
    match recompute {
        Recompute::None => Plan::Record,
        Recompute::Blocks => Plan::EACH,
        Recompute::Every(blocks) => Plan::Every(count(blocks)),
        Recompute::Snapshots(snapshots) => Plan::Snapshots(count(snapshots)),
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::canonical::Count;
    use crate::canonical::Finite;

    fn built(options: &ReplayOptions) -> Result<Machine, Unbuildable> {
        let contract = serde_json::json!({
            "formula": "token-mean/1", "accumulation_steps": 1, "world_size": 1, "tail": "flush",
            "tolerance": {"absolute": 0.0, "relative": 1e-9}, "precision": "float64"
        });
        Machine::new(&serde_json::from_value(contract).expect("a contract"), options)
    }

    fn machine(dropout: f64, recompute: Recompute) -> Machine {
        let dropout = Finite::new(dropout).expect("a number");
        built(&ReplayOptions { dropout, recompute, ..ReplayOptions::default() }).expect("a machine")
    }

    /// With so few parameters that a window takes no time.
    pub(crate) fn small() -> Machine {
        let options = serde_json::json!({
            "seed": 39, "blocks": 1, "width": 2, "heads": 1, "feed_forward": 2, "context": 4, "vocabulary": 258
        });
        built(&serde_json::from_value(options).expect("options")).expect("a machine")
    }

    fn batch(index: u64, targets: u64) -> Batch {
        Batch { window: 0, rank: 0, index, targets }
    }

    fn gradient(machine: &Machine, calls: &[&[Batch]], sweep: Sweep) -> Gradients {
        let (mut gradients, mut arena) = (Gradients::zeros(&machine.initial.parameters), Arena::default());
        for batches in calls {
            let parameters = &machine.initial.parameters;
            let added = machine.backward(parameters, batches.iter().copied(), 0.1, sweep, &mut gradients, &mut arena);
            assert_eq!(added, Ok(()));
        }
        gradients
    }

    #[test]
    fn a_plan_changes_no_bit() {
        let batches: &[Batch] = &[batch(0, 11), batch(1, 3)];
        let some = |count: u64| Count::from(u32::try_from(count).expect("few"));
        for dropout in [0.0, 0.5] {
            let recorded = gradient(&machine(dropout, Recompute::None), &[batches], Sweep::Adding);
            for recompute in [Recompute::Blocks, Recompute::Every(some(2)), Recompute::Snapshots(some(2))] {
                let machine = machine(dropout, recompute);
                assert_ne!(machine.recompute(), Plan::Record);
                let own = gradient(&machine, &[batches], Sweep::Adding);
                assert_eq!(own, recorded, "{recompute:?} with dropout {dropout}");
                let overwritten = gradient(&machine, &[batches], Sweep::Overwriting);
                let other = gradient(&self::machine(dropout, Recompute::None), &[batches], Sweep::Overwriting);
                assert_eq!(overwritten, other, "a counterexample does not depend on the plan");
                assert_ne!(overwritten, recorded);
            }
        }
    }

    /// With one snapshot every block is run again inside the one after it.
    #[test]
    fn the_deepest_decoder_fits_a_threads_stack() {
        let blocks = |blocks: usize| Count::from(u32::try_from(blocks).expect("few"));
        let options = ReplayOptions {
            blocks: blocks(MOST_BLOCKS),
            recompute: Recompute::Snapshots(Count::from(1)),
            ..ReplayOptions::default()
        };
        gradient(&built(&options).expect("a machine"), &[&[batch(0, 1)]], Sweep::Adding);
        let deeper = ReplayOptions { blocks: blocks(MOST_BLOCKS + 1), ..options };
        assert_eq!(built(&deeper).err(), Some(Unbuildable::TooDeep(MOST_BLOCKS + 1)));
    }

    #[test]
    fn masks_belong_to_rows_whatever_goes_through_together() {
        let machine = machine(0.5, Recompute::None);
        let (a, b) = (batch(0, 11), batch(1, 13));
        let together = gradient(&machine, &[&[a, b]], Sweep::Adding);
        let apart = gradient(&machine, &[&[b], &[a]], Sweep::Adding);
        assert_eq!(together.first_difference(&apart, 1e-13), None);
        let live = gradient(&machine, &[&[a, b]], Sweep::Repartitioned);
        assert!(together.first_difference(&live, 1e-6).is_some());
        assert_ne!(gradient(&self::machine(0.0, Recompute::None), &[&[a, b]], Sweep::Adding), together);
    }
}

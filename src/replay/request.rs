//! A replay from beginning to end: what was asked for, the windows as they come, the report.
use super::choice::Choice;
use super::choice::Plan;
use super::execute::Settings;
use super::execute::execute;
use super::fault::Fault;
use super::machine::Machine;
use super::recipes::Recipe;
use super::recomputation::Recomputation;
use super::report::About;
use super::report::ReplayReport;
use super::script::Script;
use super::trace::Trace;
use super::trace::WindowMismatch;
use crate::autograd::gradients::Reduction;
use crate::manifest::contract::Contract;
use crate::manifest::contract::Reduction as DeclaredReduction;
use crate::manifest::replay::ReplayOptions;
use crate::numeric::rounding::Arithmetic;
use crate::numeric::tolerance::Tolerance;
use std::fmt;

/// Targets that a replay takes where nothing else is said.
pub const DEFAULT_TARGETS: u64 = 200_000;

/// Bytes of parameters, moments and buffers of all ranks that a replay may take.
const STATES: usize = 1 << 30;

/// What is asked of a replay.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The decoder and its rows.
    pub options: &'a ReplayOptions,
    /// The arithmetic to emulate where it is not the contract's.
    pub precision: Option<Arithmetic>,
    /// Targets of all windows together.
    pub targets: u64,
    /// The recipes that are executed on the worst windows.
    pub recipes: &'a [Recipe],
    /// Threads; they change no bit.
    pub threads: usize,
    /// Whether the report lists every window.
    pub lists_windows: bool,
    /// Is told how many of how many targets are done, those of the recipes among them.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("targets", &self.targets)
            .field("recipes", &self.recipes)
            .finish_non_exhaustive()
    }
}

/// Collects what is to be replayed while a run is read.
#[derive(Debug)]
pub struct Replay<'a> {
    request: Request<'a>,
    contract: &'a Contract,
    choice: Choice,
}

/// What a replay came to.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// For the receipt.
    pub report: ReplayReport,
    /// For the rules; `None` where nothing could be executed.
    pub trace: Option<Trace>,
}

impl<'a> Replay<'a> {
    /// Before the first window.
    pub fn new(contract: &'a Contract, request: Request<'a>) -> Self {
        Replay { request, contract, choice: Choice::new(request.targets) }
    }

    /// Takes in the next window.
    pub fn window(&mut self, script: Script) {
        self.choice.add(script);
    }

    /// Executes what was chosen.
    pub fn finish(self) -> Replayed {
        self.executed(|machine| machine)
    }

    /// Executes what was chosen with a fault on purpose, to see that it is found.
    pub fn finish_with(self, fault: Fault) -> Replayed {
        self.executed(|machine| machine.with_fault(fault))
    }

    fn executed(self, changed: impl FnOnce(Machine) -> Machine) -> Replayed {
        let Replay { request, contract, choice, .. } = self;
        let plan = choice.finish();
        let other = request.precision.map(|precision| in_precision(contract, precision));
        let contract = other.as_ref().unwrap_or(contract);
        let about = About { contract, model: request.options, lists_windows: request.lists_windows };
        match Self::machine(contract, request).map(changed) {
            Ok(machine) => {
                let mut trace = Self::execute(contract, request, &machine, &plan);
                let recomputation = Recomputation::of(&machine).unwrap_or_else(|mismatch| {
                    trace.mismatches.insert(0, WindowMismatch { window: None, mismatch });
                    None
                });
                let tensors = machine.initial().parameters.tensors();
                let report = ReplayReport::of(about, &plan, &trace, tensors);
                Replayed { report: ReplayReport { recomputation, ..report }, trace: Some(trace) }
            }
            Err(reason) => Replayed { report: ReplayReport::refused(about, &plan, reason), trace: None },
        }
    }

    fn machine(contract: &Contract, request: Request<'_>) -> Result<Machine, String> {
        let machine = Machine::new(contract, request.options).map_err(|unbuildable| unbuildable.to_string())?;
        let ranks = usize::try_from(contract.world_size.get()).unwrap_or(usize::MAX);
        if machine.initial().bytes().saturating_mul(ranks) > STATES {
            return Err(format!("the states of {ranks} ranks take more than {STATES} bytes"));
        }
        Ok(machine)
    }

    fn execute(contract: &Contract, request: Request<'_>, machine: &Machine, plan: &Plan) -> Trace {
        let declared = contract.tolerance;
        let tolerance = Tolerance::new(declared.absolute.get(), declared.relative.get());
        let settings = Settings {
            machine,
            ranks: usize::try_from(contract.world_size.get()).expect("bug: more ranks than can be counted"),
            reduction: match contract.gradient_reduction {
                Some(DeclaredReduction::Sum) => Reduction::Sum,
                _ => Reduction::Mean,
            },
            tolerance: tolerance.expect("bug: a negative tolerance was let in"),
            recipes: request.recipes,
            threads: request.threads,
        };
        execute(settings, plan, request.progress)
    }
}

/// The contract in another arithmetic; the loss is in the one that goes with it.
fn in_precision(contract: &Contract, precision: Arithmetic) -> Contract {
    Contract { precision, loss_precision: None, ..contract.clone() }
}

//! The replay of a plan: the recorded run beside the full batch, and beside the recipes.
//!
//! Three executions go through the same windows: the full batch; the run, set to the full batch's state before every
//! window so that each window shows its own fault; and the run left to itself, whose weights drift. They go side by
//! side on threads of their own, and who is faster changes nothing.
use super::choice::Plan;
use super::choice::Planned;
use super::counterexample::Worst;
use super::interpret::Interpreter;
use super::machine::Machine;
use super::recipes::Recipe;
use super::reference::FullBatch;
use super::reference::Reference;
use super::trace::Cumulative;
use super::trace::Trace;
use super::trace::WindowTrace;
use super::window::Comparison;
use super::window::furthest_weights;
use super::window::ranks_apart;
use crate::autograd::gradients::Reduction;
use crate::numeric::tolerance::Tolerance;
use std::sync::mpsc::sync_channel;

/// Windows that the full batch may be ahead of the run.
const AHEAD: usize = 64;

/// How a plan is executed.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// What it is executed on.
    pub machine: &'a Machine,
    /// W.
    pub ranks: usize,
    /// How ranks' gradients become one.
    pub reduction: Reduction,
    /// When two gradients agree.
    pub tolerance: Tolerance,
    /// The recipes that are executed on the worst windows.
    pub recipes: &'a [Recipe],
    /// With 1 everything is done one after the other, with the same result.
    pub threads: usize,
}

/// Executes the plan. `progress` is told how many of the plan's targets are done.
pub fn execute(settings: Settings<'_>, plan: &Plan, mut progress: impl FnMut(u64)) -> Trace {
    progress(0);
    let mut worst = Worst::of(plan);
    let (windows, reached, alone) = std::thread::scope(|scope| {
        let alone = || left_alone(settings, &plan.windows);
        let concurrent = settings.threads > 1;
        let alone_thread = concurrent.then(|| scope.spawn(alone));
        let mut full = FullBatch::new(settings.machine);
        let (windows, reached) = if concurrent {
            let (send, receive) = sync_channel(AHEAD);
            scope.spawn(move || {
                for planned in &plan.windows {
                    if send.send(full.window(&planned.script)).is_err() {
                        return;
                    }
                }
            });
            compare(settings, plan, receive.into_iter(), &mut worst, &mut progress)
        } else {
            let references = plan.windows.iter().map(|planned| full.window(&planned.script));
            compare(settings, plan, references, &mut worst, &mut progress)
        };
        let alone = match alone_thread {
            Some(thread) => thread.join().expect("bug: a replay thread panicked"),
            None => alone(),
        };
        (windows, reached, alone)
    });
    let cumulative = reached.map(|reference| {
        let (rank, weights) = furthest_weights(alone.states(), &reference.after);
        Cumulative { rank, weights, ranks_apart: ranks_apart(alone.states()) }
    });
    Trace {
        parameters: settings.machine.initial().parameters.values().len(),
        windows,
        cumulative,
        counterexamples: worst.counterexamples(settings),
        targets: plan.targets(),
    }
}

/// Every judged window beside its reference, and the last reference.
fn compare(
    settings: Settings<'_>,
    plan: &Plan,
    references: impl Iterator<Item = Reference>,
    worst: &mut Worst,
    progress: &mut impl FnMut(u64),
) -> (Vec<WindowTrace>, Option<Reference>) {
    let Settings { machine, ranks, reduction, tolerance, .. } = settings;
    let mut comparison = Comparison::new(machine, ranks, reduction, tolerance);
    let mut traces = Vec::with_capacity(plan.windows.len());
    let mut done = 0;
    let mut latest = None;
    for (planned, reference) in plan.windows.iter().zip(references) {
        let trace = comparison.window(&planned.script, planned.follows, &reference);
        worst.observe(planned, &reference);
        if planned.is_judged {
            traces.push(trace);
        }
        done += planned.script.targets();
        progress(done);
        latest = Some(reference);
    }
    (traces, latest)
}

/// The run without any reference.
fn left_alone<'a>(settings: Settings<'a>, windows: &[Planned]) -> Interpreter<'a> {
    let mut run = Interpreter::new(settings.machine, settings.ranks, settings.reduction);
    for planned in windows {
        if !planned.follows {
            run.clear();
        }
        run.window(&planned.script, |_| {});
    }
    run
}

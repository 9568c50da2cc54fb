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
use super::trace::WindowMismatch;
use super::trace::WindowTrace;
use super::window::Comparison;
use super::window::furthest_weights;
use super::window::ranks_apart;
use crate::autograd::gradients::Reduction;
use crate::numeric::tolerance::Tolerance;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
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

/// Executes the plan. `progress` is told how many of how many targets are done, the plan's and then those of the recipes;
/// it may be told by two threads.
pub fn execute(settings: Settings<'_>, plan: &Plan, progress: impl Fn(u64, u64) + Sync) -> Trace {
    let mut worst = Worst::of(plan);
    let total = plan.targets().saturating_add(worst.targets(plan, settings.recipes));
    // The run is executed beside the full batch and by itself; a target is done when both have come to it.
    let twice = AtomicU64::new(0);
    let executed = |targets: u64| progress((twice.fetch_add(targets, Relaxed) + targets) / 2, total);
    executed(0);
    let (compared, alone) = std::thread::scope(|scope| {
        let alone = || left_alone(settings, &plan.windows, &executed);
        let concurrent = settings.threads > 1;
        let alone_thread = concurrent.then(|| scope.spawn(alone));
        let mut full = FullBatch::new(settings.machine);
        let compared = if concurrent {
            let (send, receive) = sync_channel(AHEAD);
            scope.spawn(move || {
                for planned in &plan.windows {
                    if send.send(full.window(&planned.script)).is_err() {
                        return;
                    }
                }
            });
            compare(settings, plan, receive.into_iter(), &mut worst, &executed)
        } else {
            let references = plan.windows.iter().map(|planned| full.window(&planned.script));
            compare(settings, plan, references, &mut worst, &executed)
        };
        let alone = match alone_thread {
            Some(thread) => thread.join().expect("bug: a replay thread panicked"),
            None => alone(),
        };
        (compared, alone)
    });
    let Compared { windows, mut mismatches, reached } = compared;
    let cumulative = match &alone {
        Ok(alone) => reached.map(|reference| cumulative(alone, &reference)),
        Err(_) => None,
    };
    mismatches.extend(alone.err());
    let mut done = plan.targets();
    let counterexamples = worst.counterexamples(settings, &mut mismatches, |targets| {
        done += targets;
        progress(done, total);
    });
    // What could not be executed is not to be waited for.
    progress(total, total);
    mismatches.sort_by_key(|mismatch| mismatch.window);
    mismatches.dedup_by_key(|mismatch| mismatch.window);
    Trace {
        parameters: settings.machine.initial().parameters.values().len(),
        windows,
        cumulative,
        counterexamples,
        mismatches,
        targets: plan.targets(),
    }
}

/// The run beside the full batch.
struct Compared {
    /// Every judged window.
    windows: Vec<WindowTrace>,
    /// The windows of which nothing can be said.
    mismatches: Vec<WindowMismatch>,
    /// The last reference.
    reached: Option<Reference>,
}

fn compare(
    settings: Settings<'_>,
    plan: &Plan,
    references: impl Iterator<Item = Reference>,
    worst: &mut Worst,
    executed: &impl Fn(u64),
) -> Compared {
    let Settings { machine, ranks, reduction, tolerance, .. } = settings;
    let mut comparison = Comparison::new(machine, ranks, reduction, tolerance);
    let mut compared = Compared { windows: Vec::with_capacity(plan.windows.len()), mismatches: vec![], reached: None };
    for (planned, reference) in plan.windows.iter().zip(references) {
        match comparison.window(&planned.script, planned.follows, &reference) {
            Ok(trace) => {
                worst.observe(planned, &reference);
                if planned.is_judged {
                    compared.windows.push(trace);
                }
            }
            Err(mismatch) => {
                worst.skip();
                let window = Some(planned.script.window);
                compared.mismatches.push(WindowMismatch { window, mismatch });
            }
        }
        executed(planned.script.targets());
        compared.reached = Some(reference);
    }
    compared
}

/// The run without any reference, as far as everything that is run again comes out the same.
fn left_alone<'a>(
    settings: Settings<'a>,
    windows: &[Planned],
    executed: &impl Fn(u64),
) -> Result<Interpreter<'a>, WindowMismatch> {
    let mut run = Interpreter::new(settings.machine, settings.ranks, settings.reduction);
    for planned in windows {
        if !planned.follows {
            run.clear();
        }
        let seen = run.window(&planned.script, |_| {});
        if let Some(mismatch) = WindowMismatch::of(planned.script.window, &seen) {
            return Err(mismatch);
        }
        executed(planned.script.targets());
    }
    Ok(run)
}

fn cumulative(alone: &Interpreter<'_>, reached: &Reference) -> Cumulative {
    let (rank, weights) = furthest_weights(alone.states(), &reached.after);
    Cumulative { rank, weights, ranks_apart: ranks_apart(alone.states()) }
}

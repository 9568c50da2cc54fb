//! What the contract says of the scheduler's ticks in a window, beside what is there: for GA302, GA305 and GA306.
use crate::clock::Phase;
use crate::clock::RankClock;
use crate::clock::Tick;
use crate::clock::Trace;
use crate::manifest::contract::Contract;
use crate::manifest::contract::Interval;
use crate::manifest::contract::Move;
use crate::manifest::contract::Position;
use crate::manifest::contract::SchedulerClock;
use crate::manifest::contract::Unobserved;
use crate::manifest::event::Outcome;
use crate::rules::Judged;

/// Ticks of one window on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticks {
    /// How many the contract declares.
    pub(super) declared: u64,
    /// How many were recorded that count for this window.
    pub(super) seen: u64,
    /// How many of them stand on the wrong side of the step.
    pub(super) misplaced: u64,
    /// Whether their number is as declared.
    pub(super) is_right: bool,
}

/// When the scheduler ticks, where the contract declares one and the recorder sees it.
pub(super) fn declared(contract: &Contract) -> Option<SchedulerClock> {
    contract.scheduler.filter(|_| contract.observes(Unobserved::SchedulerStep)).map(|scheduler| scheduler.clock())
}

/// The ticks of a window; `None` where they cannot be judged.
pub(super) fn of(judged: &Judged<'_>, rank: &RankClock) -> Option<Ticks> {
    let scheduler = declared(judged.contract)?;
    match (scheduler.interval, scheduler.position) {
        (Interval::Epoch, position) => Some(per_epoch(judged, rank, scheduler.ticks, position)),
        (Interval::Update, Position::After) => Some(after_step(judged, rank, scheduler.ticks)),
        (Interval::Update, Position::Before) => before_step(judged, rank, scheduler.ticks),
    }
}

/// How many ticks an outcome owes.
fn owed(contract: &Contract, outcome: Option<Outcome>, ticks: u64) -> u64 {
    match outcome {
        Some(Outcome::Applied) => ticks,
        Some(Outcome::Skipped) if contract.on_skip.scheduler == Move::Advance => ticks,
        _ => 0,
    }
}

/// Ticks that follow the step they belong to.
fn after_step(judged: &Judged<'_>, rank: &RankClock, ticks: u64) -> Ticks {
    let trace = &rank.trace;
    let lead = Trace::count_in(&trace.scheduler_steps, Phase::Lead) as u64;
    let seen = trace.counts.scheduler_step - lead;
    let settled = Trace::count_in(&trace.scheduler_steps, Phase::Settled) as u64;
    let declared = owed(judged.contract, rank.outcome(), ticks);
    let is_cut = judged.clock.is_cut && seen < declared;
    // Where GA301 found no step or several, ticks that go with the steps, or with the step that should be there, only
    // follow from it.
    let is_full = rank.microbatches >= judged.clock.declared;
    let follows = match trace.counts.optimizer_step {
        0 => is_full && seen == ticks,
        1 => false,
        steps => seen == ticks.saturating_mul(steps),
    };
    let is_right = seen == declared || is_cut || follows;
    let misplaced = if trace.counts.optimizer_step == 1 { seen - settled } else { 0 };
    Ticks { declared, seen, misplaced, is_right }
}

/// Ticks that come before the step they belong to: after the window's first backward, or at the top of the loop, which
/// is after the step before. Neither can be told after a restore.
fn before_step(judged: &Judged<'_>, rank: &RankClock, ticks: u64) -> Option<Ticks> {
    let trace = &rank.trace;
    if rank.is_restored || rank.is_resumed || trace.counts.optimizer_step != 1 {
        return None;
    }
    let settled = Trace::count_in(&trace.scheduler_steps, Phase::Settled) as u64;
    let seen = rank.ticks_before + trace.counts.scheduler_step - settled;
    let declared = owed(judged.contract, rank.outcome(), ticks);
    let is_late = seen == 0 && settled == declared;
    let is_after_all = judged.clock.is_last && !judged.clock.is_cut;
    let misplaced = if is_late || is_after_all { settled } else { 0 };
    let seen = if is_late { settled } else { seen };
    Some(Ticks { declared, seen, misplaced, is_right: seen == declared })
}

/// Ticks of an epoch between the last backward of its last window and that window's step. Where the epoch had ended
/// already the step may well belong to the next.
fn before_last_step(rank: &RankClock) -> u64 {
    let [(step, _)] = rank.trace.steps.as_slice() else { return 0 };
    let is_early = |tick: &&Tick| {
        let ended = rank.trace.epoch_ends.iter().any(|end| end.position < tick.position);
        tick.phase == Phase::Complete && tick.position < step.position && !ended
    };
    rank.trace.scheduler_steps.iter().filter(is_early).count() as u64
}

/// Ticks of the epochs that end in the window's stretch. The end of the stream may be an epoch's end too. A scheduler
/// that ticks at the beginning of each epoch has no tick at the end of the last.
fn per_epoch(judged: &Judged<'_>, rank: &RankClock, ticks: u64, position: Position) -> Ticks {
    let trace = &rank.trace;
    let seen = trace.counts.scheduler_step - Trace::count_in(&trace.scheduler_steps, Phase::Lead) as u64;
    let declared = ticks.saturating_mul(rank.epochs_ended);
    let is_last = judged.clock.is_last;
    let with_stream = if is_last && rank.epoch_open { declared.saturating_add(ticks) } else { declared };
    let is_begun_only = is_last && (position == Position::Before || judged.clock.is_cut);
    let without_last = if is_begun_only { declared.saturating_sub(ticks) } else { declared };
    let is_right = [declared, with_stream, without_last].contains(&seen);
    let misplaced = if position == Position::After { before_last_step(rank) } else { 0 };
    Ticks { declared, seen, misplaced, is_right }
}

//! GA305.
use super::count;
use super::ticks;
use crate::clock::Phase;
use crate::clock::RankClock;
use crate::clock::Tick;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::manifest::contract::Contract;
use crate::manifest::contract::LossScale;
use crate::manifest::contract::Position;
use crate::manifest::contract::Unobserved;
use crate::manifest::event::Event;
use crate::manifest::window::RankWindow;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Finds clock events in the right number but on the wrong side of another: a scheduler tick or a scaler update
    /// before the optimizer step (or a tick after it where the contract declares `position: "before"`), a clip or an
    /// unscale after it, a second rescale, and numbers logged or parameters recorded before their window is done.
    ///
    /// ## Why it is wrong
    /// A tick before the step shifts the whole schedule by one update. A clip or unscale after the step changes nothing
    /// that is used. A scaler that has already updated divides by a scale that was never multiplied in. A loss logged
    /// before the last microbatch is not the window's loss.
    ///
    /// ## What to do
    /// Per window: backwards, rescale, unscale, clip, `optimizer.step()`, `scaler.update()`, `scheduler.step()`,
    /// `zero_grad()`. If your scheduler is meant to tick before the step, declare `position: "before"`.
    GA305, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    for (rank, recorded) in judged.clock.ranks.iter().zip(&judged.window.ranks) {
        let mut report = |index: u64, message: String| {
            findings.report(Finding::new(Code::GA305, judged.clock.place(rank, index), message));
        };
        if rank.trace.steps.len() == 1 {
            misplaced_tick(judged, rank).into_iter().for_each(|(index, message)| report(index, message));
            around_step(judged.contract, rank).into_iter().for_each(|(index, message)| report(index, message));
        }
        if let [_, second, ..] = rank.trace.rescales.as_slice() {
            let number = count(rank.trace.counts.rescale, "rescale");
            report(second.index, format!("{number} in the window where 1 at most is due"));
        }
        too_soon(judged, rank, recorded).into_iter().for_each(|(index, message)| report(index, message));
    }
}

/// A tick on the other side of the step than declared.
fn misplaced_tick(judged: &Judged<'_>, rank: &RankClock) -> Option<(u64, String)> {
    let ticks = ticks::of(judged, rank).filter(|ticks| ticks.is_right && ticks.misplaced > 0)?;
    let is_before = ticks::declared(judged.contract)?.position == Position::Before;
    let is_wrong = |tick: &&Tick| tick.phase != Phase::Lead && (tick.phase == Phase::Settled) == is_before;
    let tick = rank.trace.scheduler_steps.iter().find(is_wrong)?;
    let (seen, declared) = if is_before { ("after", "before") } else { ("before", "after") };
    let number = count(ticks.misplaced, "scheduler tick");
    Some((tick.index, format!("{number} {seen} the optimizer step, where the contract declares {declared} it")))
}

/// Clips and unscales after the step, scaler updates between the last backward and the step.
fn around_step(contract: &Contract, rank: &RankClock) -> Vec<(u64, String)> {
    let trace = &rank.trace;
    let mut faults = Vec::new();
    let mut find = |is_judged: bool, ticks: &[Tick], phase: Phase, message: &str| {
        let tick = ticks.iter().find(|tick| tick.phase == phase);
        faults.extend(tick.filter(|_| is_judged).map(|tick| (tick.index, message.to_owned())));
    };
    let clips = contract.clip.is_some() && contract.observes(Unobserved::Clip);
    find(clips, &trace.clips, Phase::Settled, "a clip after the optimizer step");
    let scales = contract.loss_scale.is_some();
    let unscales = scales && contract.observes(Unobserved::Unscale);
    find(unscales, &trace.unscales, Phase::Settled, "an unscale after the optimizer step");
    let is_dynamic = matches!(contract.loss_scale, Some(LossScale::Dynamic { .. }));
    let updates = is_dynamic && contract.observes(Unobserved::ScalerUpdate);
    find(updates, &trace.scaler_updates, Phase::Complete, "a scaler update before the optimizer step");
    faults
}

/// What was logged or recorded before its window was done.
fn too_soon(judged: &Judged<'_>, rank: &RankClock, recorded: &RankWindow) -> Vec<(u64, String)> {
    let window = judged.clock.window;
    let Some(last) = rank.trace.backwards.last() else { return Vec::new() };
    let first = rank.trace.backwards.first().map_or(0, |first| first.position);
    let mut faults = Vec::new();
    let after = |position: usize| {
        let done = rank.trace.backwards.iter().filter(|backward| backward.position < position).count();
        format!("after {done} of its {}", count(rank.trace.counts.backward, "backward"))
    };
    for (position, indexed) in recorded.events.iter().enumerate() {
        match &indexed.event {
            Event::Logged(logged) if logged.window.get() > window => {
                let about = logged.window.get();
                faults.push((indexed.index, format!("values of window {about} were logged before it began")));
            }
            Event::Logged(logged) if logged.window.get() == window && position < last.position => {
                faults.push((indexed.index, format!("the window's values were logged {}", after(position))));
            }
            Event::Parameters(_) if first < position && position < last.position => {
                faults.push((indexed.index, format!("parameters were recorded inside the window, {}", after(position))));
            }
            _ => {}
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::find;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use serde_json::Value;
    use serde_json::json;

    fn amp() -> Value {
        json!({"clip": {"max_norm": 1}, "scheduler": {"name": "recorded"}, "loss_scale": {"policy": "dynamic",
            "initial": 1024, "growth_factor": 2, "backoff_factor": 0.5, "growth_interval": 3}})
    }

    #[test]
    fn the_orders_of_real_loops_are_right() {
        for good in [
            "zero b b b unscale clip log step scale=1024 tick zero params",
            "params b b b log unscale clip step scale=1024 tick zero end | b b rescale unscale clip step zero tick log",
            "b b b unscale clip params step scale=1024 zero tick | b b b log=0 unscale clip step",
            "tick b b b step",
        ] {
            assert_eq!(fires(&RULE, amp(), &[good]), 0, "{good}");
        }
    }

    #[test]
    fn the_wrong_side_of_the_step() {
        let found = |script| message(&RULE, amp(), &[script]);
        assert_eq!(
            found("b b b tick step"),
            "1 scheduler tick before the optimizer step, where the contract declares after it"
        );
        assert_eq!(find(&RULE, amp(), &["tick b tick b b step"])[0].place.event, Some(2), "at the early tick");
        assert_eq!(found("b b b step clip"), "a clip after the optimizer step");
        assert_eq!(found("b b b step unscale"), "an unscale after the optimizer step");
        assert_eq!(found("b b b scale=1024 step"), "a scaler update before the optimizer step");
        assert_eq!(found("b b b rescale rescale step"), "2 rescales in the window where 1 at most is due");
    }

    #[test]
    fn where_the_contract_declares_no_clock_nothing_is_out_of_order() {
        assert_eq!(fires(&RULE, json!({}), &["b b b tick scale=3 step unscale clip"]), 0);
        let mut blind = amp();
        blind["unobserved"] = json!(["clip", "unscale", "scaler_update", "scheduler_step"]);
        assert_eq!(fires(&RULE, blind, &["b b b tick scale=3 step unscale clip"]), 0);
    }

    #[test]
    fn a_tick_on_the_declared_side() {
        let before = json!({"scheduler": {"name": "recorded", "position": "before"}});
        assert_eq!(fires(&RULE, before.clone(), &["b b b tick step zero | b b b tick step"]), 0);
        assert_eq!(fires(&RULE, before.clone(), &["tick b b b step zero tick | b b b step"]), 0);
        assert_eq!(
            message(&RULE, before.clone(), &["b b b step tick"]),
            "1 scheduler tick after the optimizer step, where the contract declares before it"
        );
        assert_eq!(fires(&RULE, before, &["b b b step zero tick | b b b step tick"]), 2);
    }

    #[test]
    fn an_epochs_tick_comes_after_its_last_step() {
        let epoch = || json!({"tail": "carry", "scheduler": {"name": "recorded", "interval": "epoch"}});
        for good in ["b b b step zero tick end | b b b step", "b b tick end b step", "b b end b tick step", "b b end tick b step"] {
            assert_eq!(fires(&RULE, epoch(), &[good]), 0, "{good}");
        }
        assert_eq!(
            message(&RULE, epoch(), &["b b b tick step zero end | b b b step"]),
            "1 scheduler tick before the optimizer step, where the contract declares after it"
        );
    }

    #[test]
    fn what_is_logged_comes_after_the_window() {
        assert_eq!(message(&RULE, json!({}), &["b b log b step"]), "the window's values were logged after 2 of its 3 backwards");
        assert_eq!(message(&RULE, json!({}), &["b b b step log=1 | b b b step"]), "values of window 1 were logged before it began");
        assert_eq!(
            message(&RULE, json!({}), &["b params b b step"]),
            "parameters were recorded inside the window, after 1 of its 3 backwards"
        );
        assert_eq!(fires(&RULE, json!({}), &["log b b b step"]), 1);
    }
}

//! GA306.
use super::count;
use super::ticks;
use crate::clock::Label;
use crate::clock::Labelled;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::manifest::contract::Interval;
use crate::manifest::contract::Move;
use crate::manifest::event::Outcome;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Finds a clock that a skipped update moved although `on_skip` holds it, or held although `on_skip` advances it:
    /// scheduler ticks in the window that was skipped, and `update` counters after it.
    ///
    /// ## Why it is wrong
    /// When the gradients overflow, the optimizer does not step. A scheduler that ticks all the same loses an index of
    /// its schedule with every overflow, and warm-up, where overflows are common, ends too soon. A counter that
    /// disagrees with the declaration labels checkpoints and logs with updates that never were.
    ///
    /// ## What to do
    /// Tick only if the step was applied: with `GradScaler`, compare the scale before and after `update()`, or read
    /// `optimizer_step_was_skipped`. If ticking on every window is what you mean, declare `on_skip` so.
    GA306, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    let on_skip = judged.contract.on_skip;
    for rank in &judged.clock.ranks {
        for label in rank.labels.iter().filter(|label| is_explained(label)) {
            let Some(counted) = label.counted else { continue };
            let moved = match on_skip.update {
                Move::Hold => "counts skipped updates, where the contract holds it on them",
                Move::Advance => "leaves skipped updates out, where the contract advances it with them",
            };
            let message = format!("`update` {} {moved}: {counted} here", label.recorded);
            let place = judged.clock.place(rank, label.index).at("/optimizer_step/update");
            findings.report(Finding::new(Code::GA306, place, message));
        }
        let is_judged = rank.outcome() == Some(Outcome::Skipped)
            && ticks::declared(judged.contract).is_some_and(|scheduler| scheduler.interval == Interval::Update);
        let Some(ticks) = ticks::of(judged, rank).filter(|ticks| is_judged && !ticks.is_right) else { continue };
        let seen = count(ticks.seen, "scheduler tick");
        let message = format!("{seen} with a skipped update, where the contract declares {}", ticks.declared);
        let step = rank.trace.steps.last().map_or(0, |(tick, _)| tick.index);
        let index = rank.trace.scheduler_steps.last().map_or(step, |tick| tick.index);
        findings.report(Finding::new(Code::GA306, judged.clock.place(rank, index), message));
    }
}

/// Whether a step's counter is wrong and right under the other policy. GA308 leaves it to this rule then.
pub(super) fn is_explained(label: &Label) -> bool {
    let is_wrong = label.counted.is_some_and(|counted| counted != label.recorded);
    label.of == Labelled::Step && is_wrong && label.otherwise == Some(label.recorded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use serde_json::Value;
    use serde_json::json;

    fn on_skip(scheduler: &str, update: &str) -> Value {
        json!({"scheduler": {"name": "recorded"}, "on_skip": {"scheduler": scheduler, "update": update}})
    }

    #[test]
    fn clocks_move_as_declared() {
        let held = "b b b step#0 tick zero | b b b skip#1 zero | b b b step#1 tick";
        let advanced = "b b b step#0 tick zero | b b b skip#1 tick zero | b b b step#2 tick";
        assert_eq!(fires(&RULE, on_skip("hold", "hold"), &[held]), 0);
        assert_eq!(fires(&RULE, on_skip("advance", "advance"), &[advanced]), 0);
        assert_eq!(fires(&RULE, on_skip("advance", "advance"), &[held]), 2);
        assert_eq!(fires(&RULE, on_skip("hold", "hold"), &[advanced]), 2);
    }

    #[test]
    fn says_what_moved() {
        assert_eq!(
            message(&RULE, on_skip("hold", "hold"), &["b b b skip tick"]),
            "1 scheduler tick with a skipped update, where the contract declares 0"
        );
        assert_eq!(
            message(&RULE, on_skip("hold", "hold"), &["b b b skip#0 zero | b b b step#1 tick"]),
            "`update` 1 counts skipped updates, where the contract holds it on them: 0 here"
        );
        assert_eq!(
            message(&RULE, on_skip("hold", "advance"), &["b b b skip#0 zero | b b b step#0 tick"]),
            "`update` 0 leaves skipped updates out, where the contract advances it with them: 1 here"
        );
    }

    #[test]
    fn what_the_other_policy_does_not_explain_is_another_rules() {
        assert_eq!(fires(&RULE, on_skip("hold", "hold"), &["b b b skip#0 zero | b b b step#7 tick"]), 0);
        assert_eq!(fires(&RULE, on_skip("hold", "hold"), &["b b b step#0 zero tick tick"]), 0);
    }
}

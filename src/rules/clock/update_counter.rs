//! GA308.
use super::skip_clock;
use crate::clock::Labelled;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::rules::Check;
use crate::rules::Judged;
use crate::rules::clock::count;

rule! {
    /// ## What it does
    /// Compares the `update` of every optimizer step with the number of updates that the clock counted before it, and a
    /// restore's `applied_updates` with the number applied before the window to which it goes back. Where the other
    /// policy for skipped updates explains the number, GA306 says so instead.
    ///
    /// ## Why it is wrong
    /// Everything that is scheduled, saved or logged by update number then happens at another moment than it says. A
    /// counter of microbatches where updates are meant runs K times too fast; a restore that claims another count
    /// resumes the schedule at the wrong place.
    ///
    /// ## What to do
    /// Raise the counter where the optimizer steps and save it with the optimizer's state.
    GA308, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    for rank in &judged.clock.ranks {
        if let Some(restored) = rank.restored {
            let (claimed, counted) = (restored.recorded, restored.counted);
            let message = format!("restored with {claimed} applied updates where {counted} had been applied before the window");
            let place = judged.clock.place(rank, restored.index).at("/restore/applied_updates");
            let magnitude = claimed.abs_diff(counted) as f64;
            findings.report(Finding::new(Code::GA308, place, message).with_magnitude(magnitude));
        }
        let steps = rank.labels.iter().filter(|label| label.of == Labelled::Step && !skip_clock::is_explained(label));
        for label in steps {
            let Some(counted) = label.counted.filter(|counted| *counted != label.recorded) else { continue };
            let message = format!("`update` is {} where {} came before", label.recorded, count(counted, "update"));
            let place = judged.clock.place(rank, label.index).at("/optimizer_step/update");
            let magnitude = label.recorded.abs_diff(counted) as f64;
            findings.report(Finding::new(Code::GA308, place, message).with_magnitude(magnitude));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::find_in;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use serde_json::json;

    #[test]
    fn counts_applied_updates() {
        assert_eq!(fires(&RULE, json!({}), &["b b b step#0 zero | b b b skip#1 zero | b b b step#1 zero | b b b step#2"]), 0);
        assert_eq!(message(&RULE, json!({}), &["b b b step#0 zero | b b b step#3"]), "`update` is 3 where 1 update came before");
        assert_eq!(fires(&RULE, json!({}), &["b b b step#1"]), 1);
    }

    #[test]
    fn skipped_updates_count_where_declared() {
        let advance = || json!({"on_skip": {"update": "advance"}});
        assert_eq!(fires(&RULE, advance(), &["b b b skip#0 zero | b b b step#1"]), 0);
        assert_eq!(fires(&RULE, advance(), &["b b b skip#0 zero | b b b step#3"]), 1);
        assert_eq!(fires(&RULE, advance(), &["b b b skip#0 zero | b b b step#0"]), 0, "the other policy explains it");
    }

    #[test]
    fn a_run_that_is_joined_midway_counts_from_its_first_label() {
        let script = "restore=40#7 b b b step#7 zero | b b b step#8 zero | b b b step#8";
        assert_eq!(fires(&RULE, json!({}), &[script]), 1);
    }

    #[test]
    fn a_restore_claims_what_was_applied() {
        let script = |applied: u64| format!("b b b step#0 zero | b b b step#1 restore=1#{applied} b b b step#1");
        assert_eq!(fires(&RULE, json!({}), &[&script(1)]), 0);
        assert_eq!(
            find_in(&RULE, json!({}), None, false, &[&script(2)])[0].instances[0].1,
            "restored with 2 applied updates where 1 had been applied before the window"
        );
        assert_eq!(fires(&RULE, json!({}), &[&script(2)]), 1, "what was counted goes on counting");
    }
}

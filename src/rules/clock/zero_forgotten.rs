//! GA304.
use crate::clock::Gradients;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::manifest::contract::Unobserved;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Finds a window whose first backward added to the gradients of the window before, because nothing cleared them
    /// after that window's update, skipped update or drop. Nothing needs to be cleared before a run's first window, nor
    /// where a restore or resume brought gradients of its own.
    ///
    /// ## Why it is wrong
    /// The old gradient is counted again in every later update, with weights that belong to another window. After a
    /// skipped update it is worse: the infinities stay, and no update is ever applied again.
    ///
    /// ## What to do
    /// Call `zero_grad()` after every step, whether the step was applied or skipped; or declare `zero_grad` in the
    /// contract's `unobserved` if the loop clears where the recorder cannot see it.
    GA304, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    if !judged.contract.observes(Unobserved::ZeroGrad) {
        return;
    }
    for rank in judged.clock.ranks.iter().filter(|rank| rank.gradients == Gradients::Spent) {
        let Some(first) = rank.trace.backwards.first() else { continue };
        let message = "the first backward added to gradients that were not cleared after the window before";
        findings.report(Finding::new(Code::GA304, judged.clock.place(rank, first.index), message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::find;
    use crate::rules::clock::testing::find_in;
    use crate::rules::clock::testing::fires;
    use serde_json::json;

    #[test]
    fn a_window_begins_with_clean_gradients() {
        for good in [
            "b b b step zero | b b b step zero",
            "zero b b b step tick zero | b b b step",
            "b b b step zero | b b end | b b b step",
            "b b b step zero | b b b step restore=1#1 b b b step",
        ] {
            assert_eq!(fires(&RULE, json!({}), &[good]), 0, "{good}");
        }
        assert_eq!(fires(&RULE, json!({"unobserved": ["zero_grad"]}), &["b b b step | b b b step"]), 0);
    }

    #[test]
    fn an_update_a_skip_and_a_drop_are_all_to_be_cleared() {
        assert_eq!(fires(&RULE, json!({}), &["b b b step | b b b step | b b b step"]), 2);
        let found = find(&RULE, json!({}), &["b b b skip tick | b b b step"]);
        assert_eq!((found[0].count, found[0].place.event), (1, Some(5)), "at the first backward");
        assert_eq!(fires(&RULE, json!({"tail": "drop"}), &["b b drop end | b b b step"]), 1);
    }

    #[test]
    fn a_resumed_window_has_gradients_of_its_own() {
        let resume = json!({"previous_receipt": "0", "window": 0, "applied_updates": 0,
            "ranks": [{"rank": 0, "microbatches": [{"microbatch": "a", "valid_targets": 2, "loss_sum": 1.0}]}]});
        let mut resume = resume;
        resume["previous_receipt"] = serde_json::to_value(crate::canonical::Digest::from([0; 32])).expect("a digest");
        let resume = serde_json::from_value(resume).expect("a resume");
        assert!(find_in(&RULE, json!({}), Some(&resume), false, &["b b step"]).is_empty());
    }
}

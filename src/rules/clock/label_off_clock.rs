//! GA311.
use crate::clock::Label;
use crate::clock::Labelled;
use crate::clock::RankClock;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::rules::Check;
use crate::rules::Judged;
use crate::rules::clock::count;

rule! {
    /// ## What it does
    /// Compares the `update` of every checkpoint and evaluation with the number of updates at that moment, and finds
    /// those that stand between a window's first backward and its step. Under `tail: "carry"` one at an epoch's end may
    /// stand inside the window that goes on.
    ///
    /// ## Why it is wrong
    /// A checkpoint labelled with another number is resumed at the wrong place of the schedule, and an evaluation is
    /// drawn at the wrong place of the curve. A checkpoint inside a window does not hold the gradients accumulated so
    /// far: what resumes from it loses or repeats microbatches.
    ///
    /// ## What to do
    /// Save and evaluate after the step, by the counter of updates and not of microbatches.
    GA311, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    for rank in &judged.clock.ranks {
        for label in rank.labels.iter() {
            judge(judged, rank, label, findings);
        }
    }
}

fn judge(judged: &Judged<'_>, rank: &RankClock, label: &Label, findings: &mut Findings) {
    let (what, field) = match label.of {
        Labelled::Step => return,
        Labelled::Checkpoint => ("a checkpoint", "/checkpoint/update"),
        Labelled::Evaluation => ("an evaluation", "/evaluation/update"),
    };
    let place = judged.clock.place(rank, label.index);
    if label.is_inside {
        let message = format!("{what} between the window's first backward and its step");
        findings.report(Finding::new(Code::GA311, place.clone(), message));
    }
    if let Some(counted) = label.counted.filter(|counted| *counted != label.recorded) {
        let message = format!("{what} labelled {} where {} came before", label.recorded, count(counted, "update"));
        let magnitude = label.recorded.abs_diff(counted) as f64;
        findings.report(Finding::new(Code::GA311, place.at(field), message).with_magnitude(magnitude));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use serde_json::json;

    #[test]
    fn labels_show_the_clock() {
        for good in [
            "save=0 b b b step zero save=1 eval=1 | b b b skip zero save=1 | b b b step zero eval=2",
            "b b b step zero | b b end save=1",
        ] {
            assert_eq!(fires(&RULE, json!({}), &[good]), 0, "{good}");
        }
        let advance = json!({"on_skip": {"update": "advance"}});
        assert_eq!(fires(&RULE, advance, &["b b b skip zero save=1 | b b b step eval=2"]), 0);
    }

    #[test]
    fn another_number_is_found() {
        assert_eq!(message(&RULE, json!({}), &["b b b step save=3"]), "a checkpoint labelled 3 where 1 update came before");
        assert_eq!(message(&RULE, json!({}), &["b b b step eval=0"]), "an evaluation labelled 0 where 1 update came before");
    }

    #[test]
    fn inside_a_window_is_found() {
        let found = "an evaluation between the window's first backward and its step";
        assert_eq!(message(&RULE, json!({}), &["b b eval=0 b step"]), found);
        assert_eq!(message(&RULE, json!({}), &["b b b eval=0 step"]), found);
        assert_eq!(fires(&RULE, json!({"tail": "carry"}), &["b b end eval=0 b step"]), 0);
        assert_eq!(fires(&RULE, json!({"tail": "carry"}), &["b b end b eval=0 step"]), 1);
    }
}

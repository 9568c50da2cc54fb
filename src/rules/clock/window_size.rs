//! GA310.
use super::count;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Finds a window in which all ranks have the same number of microbatches, but not K, although the data did not end
    /// there. A short window is a tail, and none of this rule's, where an epoch's end, a carry or drop, or the end of
    /// the stream comes before the next window. More than K is never a tail. Ranks that differ are GA112's.
    ///
    /// ## Why it is wrong
    /// The declared accumulation is not what ran: it was never applied (each microbatch is an update), applied twice (by
    /// the trainer and by a wrapper), or a window swallowed what an earlier one left over. Batch size, number of updates
    /// and schedule are all others than declared.
    ///
    /// ## What to do
    /// Configure K in one place. If K changes during the run, declare the stages in `accumulation_steps`. If epochs end
    /// in short windows, record `epoch_end`.
    GA310, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    let clock = judged.clock;
    let Some(first) = clock.ranks.first() else { return };
    let seen = first.microbatches;
    if clock.ranks.iter().any(|rank| rank.microbatches != seen) || seen == clock.declared || clock.is_tail {
        return;
    }
    let (number, declared) = (count(seen, "microbatch"), clock.declared);
    let message = format!("{number} per rank in a window for which the contract declares {declared}");
    let magnitude = seen.abs_diff(declared) as f64 / declared.max(1) as f64;
    findings.report(Finding::new(Code::GA310, clock.place_of(first), message).with_magnitude(magnitude));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::find_in;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use serde_json::json;

    #[test]
    fn a_short_window_at_the_end_of_data_is_a_tail() {
        for good in ["b b b step zero | b b step", "b b step zero end | b b b step", "b b end zero | b b b step", "b b drop | b b b step"] {
            assert_eq!(fires(&RULE, json!({}), &[good]), 0, "{good}");
        }
    }

    #[test]
    fn another_number_is_not() {
        assert_eq!(
            message(&RULE, json!({}), &["b step zero | b b b step"]),
            "1 microbatch per rank in a window for which the contract declares 3"
        );
        assert_eq!(fires(&RULE, json!({}), &["b b zero | b b b step"]), 1);
        assert_eq!(fires(&RULE, json!({}), &["b b b b step end"]), 1, "more than K is never a tail");
        assert_eq!(fires(&RULE, json!({}), &["b end b step zero | b b b step"]), 1, "an end inside makes no tail");
    }

    #[test]
    fn stages_change_what_is_declared() {
        let stages = json!({"accumulation_steps": [{"from_window": 0, "steps": 2}, {"from_window": 1, "steps": 3}]});
        assert_eq!(fires(&RULE, stages.clone(), &["b b step zero | b b b step"]), 0);
        assert_eq!(fires(&RULE, stages, &["b b b step zero | b b step"]), 1);
    }

    #[test]
    fn carried_microbatches_count() {
        let mut resume = json!({"window": 0, "applied_updates": 0,
            "ranks": [{"rank": 0, "microbatches": [{"microbatch": "a", "valid_targets": 2, "loss_sum": 1.0}]}]});
        resume["previous_receipt"] = json!(crate::canonical::Digest::of(b"a receipt"));
        let resume = serde_json::from_value(resume).expect("a resume");
        let count = |script: &str| find_in(&RULE, json!({}), Some(&resume), false, &[script]).len();
        assert_eq!(count("b b step zero | b b b step"), 0);
        assert_eq!(count("b b b step zero | b b b step"), 1);
    }
}

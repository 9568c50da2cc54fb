//! GA504.
use crate::clock::Phase;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::manifest::contract::LossScale;
use crate::manifest::contract::Unobserved;
use crate::rules::Check;
use crate::rules::Judged;
use crate::rules::clock::count;

rule! {
    /// ## What it does
    /// Where the contract declares a dynamic loss scale, counts the scaler's updates: one for each window that was
    /// stepped or skipped, and none while microbatches of the window are still to come.
    ///
    /// ## Why it is wrong
    /// Without an update an overflow never lowers the scale, and the run skips for ever. Two updates count a clean window
    /// twice. An update between microbatches changes the scale under a half-accumulated gradient.
    ///
    /// ## What to do
    /// Call `scaler.update()` once, after `scaler.step(optimizer)`, inside the same test that closes the window.
    GA504, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    let is_dynamic = matches!(judged.contract.loss_scale, Some(LossScale::Dynamic { .. }));
    if !is_dynamic || !judged.contract.observes(Unobserved::ScalerUpdate) {
        return;
    }
    for rank in &judged.clock.ranks {
        let updates: Vec<_> = rank.trace.scaler_updates.iter().filter(|tick| tick.phase != Phase::Lead).collect();
        let (seen, steps) = (updates.len() as u64, rank.trace.counts.optimizer_step);
        let number = count(seen, "scaler update");
        let (index, message) = if let Some(early) = updates.iter().find(|tick| tick.phase == Phase::Accumulating) {
            (early.index, format!("{number} in the window, the first before its last backward"))
        } else if seen > steps.max(1) {
            (updates.last().map_or(0, |tick| tick.index), format!("{number} in the window where 1 is due"))
        } else if let Some((step, _)) = rank.trace.steps.last().filter(|_| seen == 0 && !judged.clock.is_cut) {
            (step.index, format!("{number} after the optimizer step"))
        } else {
            continue;
        };
        findings.report(Finding::new(Code::GA504, judged.clock.place(rank, index), message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::find;
    use crate::rules::clock::testing::find_in;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use crate::rules::precision::amp;
    use serde_json::json;

    #[test]
    fn one_update_a_window() {
        let good = "b b b unscale step scale=1024 zero | b b b unscale! skip scale=512 zero | b b drop";
        assert_eq!(fires(&RULE, amp(json!({})), &[good]), 0);
        let found = |script| message(&RULE, amp(json!({})), &[script]);
        assert_eq!(found("b b b step"), "no scaler update after the optimizer step");
        assert_eq!(found("b b b skip"), "no scaler update after the optimizer step");
        assert_eq!(found("b b b step scale=1024 scale=1024"), "2 scaler updates in the window where 1 is due");
        assert_eq!(found("b scale=1024 b b step"), "1 scaler update in the window, the first before its last backward");
        assert_eq!(find(&RULE, amp(json!({})), &["b b b step scale=1024 scale=1024"])[0].place.event, Some(5));
        assert_eq!(fires(&RULE, amp(json!({})), &["b b b step scale=1024 step scale=1024"]), 0, "two steps are GA301's");
    }

    #[test]
    fn a_scale_that_is_static_or_unseen_needs_none() {
        assert_eq!(fires(&RULE, json!({"loss_scale": {"policy": "static", "value": 8}}), &["b b b step"]), 0);
        assert_eq!(fires(&RULE, amp(json!({"unobserved": ["scaler_update"]})), &["b b b step"]), 0);
        assert_eq!(fires(&RULE, json!({}), &["b b b step"]), 0);
    }

    #[test]
    fn what_a_cut_took_away_is_not_missed() {
        let cut = |script: &str| find_in(&RULE, amp(json!({})), None, true, &[script]).len();
        assert_eq!(cut("b b b step scale=1024 zero | b b b step"), 0);
        assert_eq!(cut("b b b step zero | b b b step"), 1);
    }
}

//! GA503.
use super::sighted;
use crate::finding::Code;
use crate::finding::Findings;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Compares the loss scale that an unscale, or the step itself, divided out with the one by which the window's last
    /// backward had multiplied.
    ///
    /// ## Why it is wrong
    /// The gradient is off by the quotient of the two, usually a power of two: clipping then cuts too much or nothing, and
    /// an optimizer that is not invariant to scale takes another step.
    ///
    /// ## What to do
    /// Let one scaler do both, and update it only after the step.
    GA503, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    for rank in &judged.clock.ranks {
        for sighting in &rank.unscale_mismatches {
            let multiplied = sighting.expected.first().copied().unwrap_or_default();
            let message = format!("divided out loss scale {} where {multiplied} had been multiplied in", sighting.recorded);
            findings.report(sighted(Code::GA503, judged, rank, sighting, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use crate::rules::precision::amp;
    use serde_json::json;

    #[test]
    fn what_is_multiplied_in_is_divided_out() {
        let good = "b@1024 b@1024 b@1024 unscale@1024 step scale=1024 zero | b@1024 b b step@1024";
        assert_eq!(fires(&RULE, amp(json!({})), &[good]), 0);
        let found = "divided out loss scale 512 where 1024 had been multiplied in";
        assert_eq!(message(&RULE, amp(json!({})), &["b@1024 b b unscale@512 step"]), found);
        assert_eq!(message(&RULE, amp(json!({})), &["b@1024 b b step@512"]), found);
    }

    #[test]
    fn the_clock_is_asked_where_no_backward_says() {
        assert_eq!(fires(&RULE, amp(json!({})), &["b b b unscale@512 step"]), 0, "that is GA505's");
        assert_eq!(fires(&RULE, amp(json!({"unobserved": ["unscale"]})), &["b@1024 b b unscale@512 step"]), 0);
        assert_eq!(fires(&RULE, json!({}), &["b@1024 b b unscale@512 step"]), 0);
    }
}

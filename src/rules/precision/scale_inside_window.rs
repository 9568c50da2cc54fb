//! GA502.
use super::sighted;
use crate::finding::Code;
use crate::finding::Findings;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Finds a window whose microbatches were scaled with different loss scales.
    ///
    /// ## Why it is wrong
    /// The buffers then hold Σ Sᵢ·gᵢ, and dividing by one S leaves every other microbatch with a wrong weight. Nothing
    /// later can repair it.
    ///
    /// ## What to do
    /// Call `scaler.update()` once a window, after the step, and never between its microbatches.
    GA502, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    for rank in &judged.clock.ranks {
        for sighting in &rank.scale_changes {
            let first = sighting.expected.first().copied().unwrap_or_default();
            let message = format!("loss scale {} in a window that began with {first}", sighting.recorded);
            findings.report(sighted(Code::GA502, judged, rank, sighting, message));
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
    fn one_scale_a_window() {
        let good = "b@1024 b b@1024 unscale step scale=1024 zero | b@1024 b@1024 b@1024 unscale! skip scale=512 zero | b@512 b@512";
        assert_eq!(fires(&RULE, amp(json!({})), &[good]), 0);
        assert_eq!(
            message(&RULE, amp(json!({})), &["b@1024 b@1024 b@512 unscale step"]),
            "loss scale 512 in a window that began with 1024"
        );
        assert_eq!(fires(&RULE, json!({}), &["b@1024 b@1024 b@512 step"]), 0, "not declared, not judged");
    }
}

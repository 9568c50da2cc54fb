//! GA505.
use super::sighted;
use crate::finding::Code;
use crate::finding::Findings;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Follows the declared loss scale from window to window (growth interval and delay, backing off, hysteresis, bounds)
    /// and compares every recorded scale with it: the one a scaler update sets, and the one with which a window begins. A
    /// static scale is compared too. After a resume or restore that leaves a counter open, every scale that some value of
    /// the counter explains is right.
    ///
    /// ## Why it is wrong
    /// The scale decides which windows overflow and are skipped, so another policy is another run. A scale that does not
    /// fall after an overflow skips again and again; one that grew without cause overflows too soon.
    ///
    /// ## What to do
    /// Declare the policy that your scaler has: PyTorch's defaults are interval 2000 and hysteresis 1, DeepSpeed's and
    /// Megatron's are others. Save the scaler's state with the checkpoint.
    GA505, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    for rank in &judged.clock.ranks {
        for sighting in &rank.strange_scales {
            let expected: Vec<String> = sighting.expected.iter().map(f64::to_string).collect();
            let message = format!("loss scale {} where the declared policy has {}", sighting.recorded, expected.join(" or "));
            findings.report(sighted(Code::GA505, judged, rank, sighting, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::find;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use crate::rules::precision::amp;
    use serde_json::json;

    #[test]
    fn follows_the_declared_policy() {
        let good = "b@1024 b b step scale=1024 zero | b@1024 b b skip scale=512 zero | b@512 b b step scale=512 zero
            | b@512 b b step scale=512 zero | b b b step scale=1024 zero | b@1024 b b step scale=1024";
        assert_eq!(fires(&RULE, amp(json!({})), &[good]), 0);
        assert_eq!(
            message(&RULE, amp(json!({})), &["b@1024 b b skip scale=1024"]),
            "loss scale 1024 where the declared policy has 512"
        );
        assert_eq!(message(&RULE, amp(json!({})), &["b@8 b b step"]), "loss scale 8 where the declared policy has 1024");
        assert_eq!(fires(&RULE, amp(json!({})), &["b b b step scale=2048"]), 1);
        assert_eq!(fires(&RULE, amp(json!({})), &["b@1024 b b step scale=1024 zero | b@512 b b step scale=512"]), 1);
    }

    #[test]
    fn a_static_scale_stays() {
        let fixed = || json!({"loss_scale": {"policy": "static", "value": 8}});
        assert_eq!(fires(&RULE, fixed(), &["b@8 b b unscale@8 step scale=8 zero | b@8 b b unscale! skip"]), 0);
        assert_eq!(fires(&RULE, fixed(), &["b@8 b b unscale step zero | b@4 b b unscale step"]), 1);
        assert_eq!(find(&RULE, fixed(), &["b b b unscale@4 step scale=4"])[0].count, 2);
    }

    #[test]
    fn goes_on_where_updates_are_unseen() {
        let blind = || amp(json!({"unobserved": ["scaler_update"]}));
        assert_eq!(fires(&RULE, blind(), &["b@1024 b b skip zero | b@512 b b step"]), 0);
        assert_eq!(fires(&RULE, blind(), &["b@1024 b b skip zero | b@1024 b b step"]), 1);
    }

    #[test]
    fn an_update_that_another_rule_misses_leaves_the_scale_open() {
        assert_eq!(fires(&RULE, amp(json!({})), &["b@1024 b b skip zero | b@1024 b b step scale=1024"]), 0);
        assert_eq!(fires(&RULE, amp(json!({})), &["b@1024 b@2048 b step scale=2048 zero | b@2048"]), 0);
        assert_eq!(fires(&RULE, amp(json!({})), &["b@1024 scale=2048 b@2048 b step scale=2048"]), 0);
        assert_eq!(fires(&RULE, json!({}), &["b@3 b b step scale=7"]), 0);
    }

    #[test]
    fn a_scale_set_before_the_run_is_the_one_to_begin_with() {
        assert_eq!(fires(&RULE, amp(json!({})), &["scale=64 b@64 b b skip scale=32"]), 0);
        assert_eq!(fires(&RULE, amp(json!({})), &["scale=64 b@64 b b skip scale=64"]), 1);
    }

    #[test]
    fn a_restore_brings_its_scale() {
        let script = "b@1024 b b step scale=1024 zero | b@1024 b b skip scale=512 restore=1#1@64 b@64 b b step scale=64";
        assert_eq!(fires(&RULE, amp(json!({})), &[script]), 0);
        assert_eq!(fires(&RULE, amp(json!({})), &[&script.replace("b@64", "b@32")]), 1);
    }
}

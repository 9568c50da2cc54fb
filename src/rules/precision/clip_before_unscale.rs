//! GA507.
use super::clips_are_seen;
use super::unscales_are_seen;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::manifest::event::Event;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Finds a clip that came before the loss scale was divided out, by an `unscale` or by the step itself.
    ///
    /// ## Why it is wrong
    /// The norm that was compared with `max_norm` is S times the gradient's. Nearly every update is then clipped, to a
    /// length of max_norm/S after unscaling, which is next to nothing.
    ///
    /// ## What to do
    /// Call `scaler.unscale_(optimizer)` before `clip_grad_norm_`.
    GA507, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    if !unscales_are_seen(judged) || !clips_are_seen(judged) {
        return;
    }
    for (rank, recorded) in judged.clock.ranks.iter().zip(&judged.window.ranks) {
        let by_step = recorded.events.iter().position(|indexed| {
            matches!(&indexed.event, Event::OptimizerStep(step) if step.loss_scale.is_some())
        });
        let unscaled = rank.trace.unscales.first().map(|tick| (tick.position, "the unscale"));
        let divided = unscaled.or(by_step.map(|position| (position, "the step that divides the loss scale out")));
        let Some((position, what)) = divided else { continue };
        let Some(early) = rank.trace.clips.iter().find(|clip| clip.position < position) else { continue };
        let message = format!("clipped before {what}: the norm is that of scaled gradients");
        findings.report(Finding::new(Code::GA507, judged.clock.place(rank, early.index), message));
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
    fn unscaled_gradients_are_clipped() {
        let clipped = || amp(json!({"clip": {"max_norm": 1}}));
        assert_eq!(fires(&RULE, clipped(), &["b b b unscale clip step zero | b b b unscale! skip"]), 0);
        assert_eq!(
            message(&RULE, clipped(), &["b b b clip unscale step"]),
            "clipped before the unscale: the norm is that of scaled gradients"
        );
        assert_eq!(
            message(&RULE, clipped(), &["b b b clip step@1024"]),
            "clipped before the step that divides the loss scale out: the norm is that of scaled gradients"
        );
        assert_eq!(fires(&RULE, clipped(), &["b b b clip step"]), 0, "never unscaled is GA501's");
        assert_eq!(fires(&RULE, clipped(), &["b unscale b b clip step"]), 0, "too early is GA501's");
    }

    #[test]
    fn both_clocks_are_declared_and_seen() {
        assert_eq!(fires(&RULE, amp(json!({})), &["b b b clip unscale step"]), 0);
        assert_eq!(fires(&RULE, json!({"clip": {"max_norm": 1}}), &["b b b clip unscale step"]), 0);
        let blind = amp(json!({"clip": {"max_norm": 1}, "unobserved": ["unscale"]}));
        assert_eq!(fires(&RULE, blind, &["b b b clip unscale step"]), 0);
    }
}

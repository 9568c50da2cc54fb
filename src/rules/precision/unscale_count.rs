//! GA501.
use super::unscales_are_seen;
use crate::clock::Phase;
use crate::clock::RankClock;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::manifest::event::Event;
use crate::manifest::window::RankWindow;
use crate::rules::Check;
use crate::rules::Judged;
use crate::rules::clock::count;

rule! {
    /// ## What it does
    /// Where the contract declares a loss scale, counts how often it was divided out of a window's gradients: once,
    /// after the last backward, by an `unscale` or by the step itself (a step with a `loss_scale`). A skipped window needs
    /// one too: it is where the overflow is found.
    ///
    /// ## Why it is wrong
    /// Gradients that were never unscaled are S times too large, those unscaled twice S times too small. Unscaling
    /// before the last backward mixes the two: what came before is right, what comes after is S times too large, so that
    /// the last microbatches alone decide the direction.
    ///
    /// ## What to do
    /// Call `scaler.unscale_(optimizer)` once a window, right after the last backward and before clipping, or leave it to
    /// `scaler.step(optimizer)`.
    GA501, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    if !unscales_are_seen(judged) {
        return;
    }
    for (rank, recorded) in judged.clock.ranks.iter().zip(&judged.window.ranks) {
        if let Some((index, message)) = fault(rank, recorded) {
            let place = match index {
                Some(index) => judged.clock.place(rank, index),
                None => judged.clock.place_of(rank),
            };
            findings.report(Finding::new(Code::GA501, place, message));
        }
    }
}

fn fault(rank: &RankClock, recorded: &RankWindow) -> Option<(Option<u64>, String)> {
    let trace = &rank.trace;
    if let Some(early) = trace.unscales.iter().find(|tick| tick.phase < Phase::Complete) {
        let before = trace.backwards.iter().filter(|backward| backward.position < early.position).count();
        let all = count(trace.counts.backward, "backward");
        return Some((Some(early.index), format!("unscaled after {before} of the window's {all}")));
    }
    let by_step = recorded.events.iter().filter(|indexed| divides(&indexed.event)).count() as u64;
    let number = trace.counts.unscale + by_step;
    // One a step; where no step or several were made, GA301 and GA601 say so.
    let due = trace.counts.optimizer_step;
    if number == due || (number <= 1 && due != 1) {
        return None;
    }
    let step = trace.steps.last().map(|(tick, _)| tick.index);
    let index = trace.unscales.last().map(|tick| tick.index).filter(|_| number > 1).or(step);
    let message = match (trace.counts.unscale, by_step) {
        (0, 0) => "the loss scale was never divided out of the window's gradients".to_owned(),
        (events, 0) => format!("{} in the window where 1 is due", count(events, "unscale")),
        (events, _) => format!("{} and a step that divided the scale out once more", count(events, "unscale")),
    };
    Some((index, message))
}

/// Whether a step divided the scale out itself.
fn divides(event: &Event) -> bool {
    matches!(event, Event::OptimizerStep(step) if step.loss_scale.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use crate::rules::precision::amp;
    use serde_json::json;

    #[test]
    fn once_after_the_last_backward() {
        for good in [
            "b b b unscale step zero | b b b step@1024 zero | b b b unscale! skip zero | b b unscale step",
            "b b b skip@1024 zero | b b b unscale step zero | b b",
            "b b b step unscale",
        ] {
            assert_eq!(fires(&RULE, amp(json!({})), &[good]), 0, "{good}");
        }
    }

    #[test]
    fn never_twice_or_early() {
        let found = |script| message(&RULE, amp(json!({})), &[script]);
        assert_eq!(found("b b b step"), "the loss scale was never divided out of the window's gradients");
        assert_eq!(found("b b b skip"), "the loss scale was never divided out of the window's gradients");
        assert_eq!(found("b b b unscale unscale step"), "2 unscales in the window where 1 is due");
        assert_eq!(found("b b b unscale unscale skip"), "2 unscales in the window where 1 is due");
        assert_eq!(found("b b b unscale step@1024"), "1 unscale and a step that divided the scale out once more");
        assert_eq!(found("b unscale b b step"), "unscaled after 1 of the window's 3 backwards");
        assert_eq!(found("b unscale b b unscale step"), "unscaled after 1 of the window's 3 backwards");
    }

    #[test]
    fn where_no_scale_is_declared_or_seen_nothing_is_missed() {
        assert_eq!(fires(&RULE, json!({}), &["b b b step"]), 0);
        assert_eq!(fires(&RULE, amp(json!({"unobserved": ["unscale"]})), &["b b b step"]), 0);
        assert_eq!(fires(&RULE, amp(json!({})), &["b b b unscale step unscale step"]), 0, "two steps are GA301's");
    }
}

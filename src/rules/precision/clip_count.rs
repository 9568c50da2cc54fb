//! GA506.
use super::clips_are_seen;
use crate::clock::Phase;
use crate::clock::RankClock;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::manifest::event::Event;
use crate::manifest::event::Outcome;
use crate::manifest::window::RankWindow;
use crate::rules::Check;
use crate::rules::Judged;
use crate::rules::clock::count;

rule! {
    /// ## What it does
    /// Where the contract declares clipping, counts the clips: one per window, after the last backward, with the declared
    /// `max_norm`. A skipped window may do without.
    ///
    /// ## Why it is wrong
    /// Clipping is not linear. Clipped after each microbatch, the partial sums are cut one after the other, and the update
    /// depends on the order of the microbatches; clipped twice or with another bound it has another length; not
    /// clipped it has none. The loss shows none of this.
    ///
    /// ## What to do
    /// Clip once, behind the test that closes the window (`if accelerator.sync_gradients`), between the last backward and
    /// the step.
    GA506, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    if !clips_are_seen(judged) {
        return;
    }
    for (rank, recorded) in judged.clock.ranks.iter().zip(&judged.window.ranks) {
        if let Some((index, message, magnitude)) = miscounted(rank) {
            let place = judged.clock.place(rank, index);
            findings.report(Finding::new(Code::GA506, place, message).with_magnitude(magnitude));
        }
        other_bound(judged, rank, recorded, findings);
    }
}

fn miscounted(rank: &RankClock) -> Option<(u64, String, f64)> {
    let trace = &rank.trace;
    let (seen, steps) = (trace.counts.clip, trace.counts.optimizer_step);
    let number = count(seen, "clip");
    let magnitude = seen.abs_diff(1) as f64;
    if let Some(early) = trace.clips.iter().find(|tick| tick.phase < Phase::Complete) {
        let before = trace.backwards.iter().filter(|backward| backward.position < early.position).count();
        let all = count(trace.counts.backward, "backward");
        let message = format!("{number} in the window, the first after {before} of its {all}");
        return Some((early.index, message, magnitude));
    }
    if seen > steps.max(1) {
        let last = trace.clips.last()?;
        return Some((last.index, format!("{number} in the window where 1 is due"), magnitude));
    }
    let (step, _) = trace.steps.last().filter(|_| seen == 0 && rank.outcome() == Some(Outcome::Applied))?;
    Some((step.index, format!("{number} before an update for which the contract declares one"), magnitude))
}

fn other_bound(judged: &Judged<'_>, rank: &RankClock, recorded: &RankWindow, findings: &mut Findings) {
    let Some(declared) = judged.contract.clip.map(|clip| clip.max_norm.get()) else { return };
    let relative = judged.contract.tolerance.relative.get();
    for tick in &rank.trace.clips {
        let Some(Event::Clip(clip)) = recorded.events.get(tick.position).map(|indexed| &indexed.event) else { continue };
        let bound = clip.max_norm.get();
        let distance = (bound - declared).abs();
        if distance > relative * declared.abs() {
            let message = format!("clipped to {bound} where the contract declares {declared}");
            let place = judged.clock.place(rank, tick.index).at("/clip/max_norm");
            findings.report(Finding::new(Code::GA506, place, message).with_magnitude(distance.min(f64::MAX)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::find;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use serde_json::Value;
    use serde_json::json;

    fn clipped() -> Value {
        json!({"clip": {"max_norm": 1}})
    }

    #[test]
    fn one_clip_a_window() {
        for good in [
            "b b b clip step zero | b b b clip! skip zero | b b b skip zero | b b clip step",
            "b b b step clip",
            "b b clip | b b b clip step",
        ] {
            assert_eq!(fires(&RULE, clipped(), &[good]), 0, "{good}");
        }
        assert_eq!(fires(&RULE, json!({}), &["b b b step"]), 0);
        assert_eq!(fires(&RULE, json!({"clip": {"max_norm": 1}, "unobserved": ["clip"]}), &["b clip b clip b step"]), 0);
    }

    #[test]
    fn another_number_or_place_is_wrong() {
        let found = |script| message(&RULE, clipped(), &[script]);
        assert_eq!(found("b b b step"), "no clip before an update for which the contract declares one");
        assert_eq!(found("b b b clip clip step"), "2 clips in the window where 1 is due");
        assert_eq!(find(&RULE, clipped(), &["b b b clip clip step"])[0].place.event, Some(4));
        assert_eq!(found("b clip b clip b clip step"), "3 clips in the window, the first after 1 of its 3 backwards");
        assert_eq!(found("clip b b b step"), "1 clip in the window, the first after 0 of its 3 backwards");
        assert_eq!(found("b clip b b skip"), "1 clip in the window, the first after 1 of its 3 backwards");
        assert_eq!(fires(&RULE, clipped(), &["b b b clip step clip step"]), 0, "two steps are GA301's");
    }

    #[test]
    fn the_bound_is_the_declared_one() {
        let other = || json!({"clip": {"max_norm": 2}});
        assert_eq!(message(&RULE, other(), &["b b b clip step"]), "clipped to 1 where the contract declares 2");
        assert_eq!(fires(&RULE, json!({"clip": {"max_norm": 1.0000000000001}}), &["b b b clip step"]), 0);
    }
}

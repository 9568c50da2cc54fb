//! GA508.
use super::clips_are_seen;
use super::unscales_are_seen;
use crate::clock::RankClock;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::manifest::event::Event;
use crate::manifest::event::Outcome;
use crate::manifest::window::RankWindow;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Finds an applied update in whose window some rank recorded a nonfinite microbatch, unscale or clip; and a skipped
    /// update in whose window every rank's unscale recorded finite gradients and nothing nonfinite was recorded.
    ///
    /// ## Why it is wrong
    /// One infinity or NaN in the gradients makes every weight that it reaches NaN; that the gradient happened to stay
    /// finite (a microbatch without targets has a NaN mean and no gradient) is luck, and its loss is wrong all the same.
    /// Skipping a finite window throws away its microbatches.
    ///
    /// ## What to do
    /// Share the overflow flag between the ranks and skip on all of them. Divide by the window's targets, so that a
    /// microbatch without targets has loss 0 instead of 0/0.
    GA508, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    let pairs = || judged.clock.ranks.iter().zip(&judged.window.ranks);
    let nonfinite = pairs().find_map(|(rank, recorded)| Some((rank, nonfinite(judged, recorded)?)));
    match (nonfinite, judged.clock.outcome()) {
        (Some((rank, (index, what))), Some(Outcome::Applied)) => {
            let message = format!("{what} was recorded on rank {} and the update was applied", rank.rank);
            findings.report(Finding::new(Code::GA508, judged.clock.place(rank, index), message));
        }
        (None, Some(Outcome::Skipped)) => {
            let is_finite = unscales_are_seen(judged) && pairs().all(|(_, recorded)| is_known_finite(recorded));
            if let Some((rank, index)) = judged.clock.ranks.first().and_then(step).filter(|_| is_finite) {
                let message = "the update was skipped although every rank's gradients were recorded as finite";
                findings.report(Finding::new(Code::GA508, judged.clock.place(rank, index), message));
            }
        }
        _ => {}
    }
}

fn step(rank: &RankClock) -> Option<(&RankClock, u64)> {
    rank.trace.steps.last().map(|(tick, _)| (rank, tick.index))
}

/// The first nonfinite number that a rank recorded in the window, in what the contract declares and the recorder sees.
fn nonfinite(judged: &Judged<'_>, recorded: &RankWindow) -> Option<(u64, &'static str)> {
    let (unscales, clips) = (unscales_are_seen(judged), clips_are_seen(judged));
    recorded.events.iter().find_map(|indexed| {
        let what = match &indexed.event {
            Event::Backward(backward) if backward.nonfinite.is_some() => "a nonfinite microbatch",
            Event::Unscale(unscale) if unscales && unscale.nonfinite == Some(true) => "a nonfinite gradient",
            Event::Clip(clip) if clips && clip.nonfinite.is_some() => "a nonfinite norm",
            _ => return None,
        };
        Some((indexed.index, what))
    })
}

/// Whether a rank's unscale says that its gradients were finite.
fn is_known_finite(recorded: &RankWindow) -> bool {
    let mut flags = recorded.events.iter().filter_map(|indexed| match &indexed.event {
        Event::Unscale(unscale) => unscale.nonfinite,
        _ => None,
    });
    flags.next() == Some(false) && !flags.any(|nonfinite| nonfinite)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use crate::rules::precision::amp;
    use serde_json::Value;
    use serde_json::json;

    fn clipped() -> Value {
        amp(json!({"clip": {"max_norm": 1}}))
    }

    #[test]
    fn what_is_nonfinite_is_skipped() {
        for good in ["b b b unscale clip step", "b b! b unscale! clip! skip", "b b b unscale! skip", "b b b skip", "b b! b unscale skip"] {
            assert_eq!(fires(&RULE, clipped(), &[good]), 0, "{good}");
        }
        assert_eq!(
            message(&RULE, json!({}), &["b b! b step"]),
            "a nonfinite microbatch was recorded on rank 0 and the update was applied"
        );
        assert_eq!(fires(&RULE, clipped(), &["b b b unscale! clip step"]), 1);
        assert_eq!(fires(&RULE, clipped(), &["b b b unscale clip! step"]), 1);
        assert_eq!(
            message(&RULE, clipped(), &["b b b unscale clip skip"]),
            "the update was skipped although every rank's gradients were recorded as finite"
        );
    }

    #[test]
    fn one_rank_overflows_and_all_skip() {
        let two = |with: Value| {
            let mut contract = crate::rules::sync::two(with);
            contract["loss_scale"] = amp(json!({}))["loss_scale"].clone();
            contract
        };
        assert_eq!(fires(&RULE, two(json!({})), &["b b b unscale skip", "b b! b unscale! skip"]), 0);
        assert_eq!(fires(&RULE, two(json!({})), &["b b b unscale skip", "b b b unscale! skip"]), 0);
        assert_eq!(fires(&RULE, two(json!({})), &["b b b unscale skip", "b b b skip"]), 0, "rank 1 does not say");
        assert_eq!(fires(&RULE, two(json!({})), &["b b b unscale skip", "b b b unscale skip"]), 1);
        assert_eq!(fires(&RULE, two(json!({})), &["b b b unscale step", "b b! b unscale! step"]), 1);
    }

    #[test]
    fn what_is_not_declared_is_not_judged() {
        assert_eq!(fires(&RULE, json!({}), &["b b b unscale! clip! step"]), 0);
        assert_eq!(fires(&RULE, json!({}), &["b b b unscale skip"]), 0);
    }
}

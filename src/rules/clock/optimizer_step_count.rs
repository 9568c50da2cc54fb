//! GA301.
use super::count;
use crate::clock::Phase;
use crate::clock::RankClock;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::manifest::event::Event;
use crate::manifest::window::RankWindow;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Counts the optimizer steps of every window on every rank: exactly one, after the window's last backward. A full
    /// window without a step, a window with two, and a step that comes while backwards of its window are still to come
    /// are found, and a step that says it is another window's. A skipped step counts as a step; a short window at the end of
    /// the data is GA601's.
    ///
    /// ## Why it is wrong
    /// One window is one update. A step too early uses a partial gradient, a second step uses the same gradient again
    /// (and moves Adam's moments and bias correction once more), a missing one loses the window's gradient or mixes it
    /// into the next window.
    ///
    /// ## What to do
    /// Step once, behind the test that closes the window, and let that test count microbatches from 1:
    /// `if (i + 1) % K == 0`. Look for a trainer, wrapper or hook that steps as well.
    GA301, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    for rank in &judged.clock.ranks {
        let is_full = rank.microbatches >= judged.clock.declared;
        if let Some((index, message)) = fault(rank, is_full) {
            let place = match index {
                Some(index) => judged.clock.place(rank, index),
                None => judged.clock.place_of(rank),
            };
            let extra = rank.trace.steps.len().abs_diff(1) as f64;
            findings.report(Finding::new(Code::GA301, place, message).with_magnitude(extra));
        }
    }
    for (rank, recorded) in judged.clock.ranks.iter().zip(&judged.window.ranks) {
        if let Some((index, named)) = mislabelled(recorded, judged.window.window) {
            let place = judged.clock.place(rank, index).at("/optimizer_step/window");
            findings.report(Finding::new(Code::GA301, place, format!("a step in the window that names window {named}")));
        }
    }
}

/// The first step that names another window than the one it stands in, and that window.
fn mislabelled(recorded: &RankWindow, window: u64) -> Option<(u64, u64)> {
    recorded.events.iter().find_map(|indexed| match &indexed.event {
        Event::OptimizerStep(step) if step.window.get() != window => Some((indexed.index, step.window.get())),
        _ => None,
    })
}

/// The event at which the fault shows, and the fault.
fn fault(rank: &RankClock, is_full: bool) -> Option<(Option<u64>, String)> {
    let steps = &rank.trace.steps;
    let number = count(steps.len() as u64, "optimizer step");
    let early = steps.iter().filter(|(tick, _)| tick.phase < Phase::Complete).count();
    if let Some((tick, _)) = steps.first().filter(|_| early > 0) {
        let all = count(rank.trace.counts.backward, "backward");
        let before = rank.trace.backwards.iter().filter(|backward| backward.position < tick.position).count();
        return Some((Some(tick.index), format!("{number} in the window, the first after {before} of its {all}")));
    }
    match steps.as_slice() {
        [] if is_full => {
            Some((None, format!("{number} in a window that has {}", count(rank.microbatches, "microbatch"))))
        }
        [_, (second, _), ..] => Some((Some(second.index), format!("{number} in the window where one is due"))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use serde_json::json;

    #[test]
    fn one_step_after_the_last_backward_is_right() {
        for good in ["b b b step zero | b b b skip zero | b b step", "b b b step zero | b b b carry", "b b b step | b b"] {
            let full = if good.contains("carry") { 1 } else { 0 };
            assert_eq!(fires(&RULE, json!({}), &[good]), full, "{good}");
        }
    }

    #[test]
    fn another_number_is_not() {
        assert_eq!(
            message(&RULE, json!({}), &["b b b zero | b b b step"]),
            "no optimizer step in a window that has 3 microbatches"
        );
        assert_eq!(message(&RULE, json!({}), &["b b b step step"]), "2 optimizer steps in the window where one is due");
        assert_eq!(message(&RULE, json!({}), &["b b step step"]), "2 optimizer steps in the window where one is due");
        assert_eq!(
            message(&RULE, json!({}), &["b step b b"]),
            "1 optimizer step in the window, the first after 1 of its 3 backwards"
        );
    }

    #[test]
    fn each_rank_is_counted() {
        let two = json!({"world_size": 2, "gradient_reduction": "mean"});
        assert_eq!(fires(&RULE, two, &["b b b step", "b b b"]), 1);
    }
}

//! GA302.
use super::count;
use super::ticks;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::manifest::contract::Interval;
use crate::manifest::event::Outcome;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Counts the scheduler's ticks against the contract: `ticks` for each update, or for each epoch that ends. A tick
    /// belongs to the last window begun. Ticks of a skipped update are GA306's, the right number on the wrong side of
    /// the step is GA305's.
    ///
    /// ## Why it is wrong
    /// Warm-up and decay are laid out in updates. A scheduler that ticks once per microbatch reaches the end of its
    /// schedule after a K-th of the run, one that ticks once per process after a W-th, and one that never ticks trains at
    /// the first rate for ever. The loss curve looks plausible each time.
    ///
    /// ## What to do
    /// `scheduler.step()` belongs inside the `if` that calls `optimizer.step()`. A loop that has no scheduler declares none:
    /// it leaves `scheduler` out of the contract (`scheduler=None` in the recorder's `contract_for`).
    ///
    /// If your library multiplies ticks (Accelerate's prepared scheduler takes one per process), either declare that as
    /// `ticks`, with a schedule laid out for it, or build the scheduler without `prepare`.
    GA302, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    let Some(scheduler) = ticks::declared(judged.contract) else { return };
    for rank in &judged.clock.ranks {
        let Some(ticks) = ticks::of(judged, rank).filter(|ticks| !ticks.is_right) else { continue };
        let per = match (scheduler.interval, rank.outcome()) {
            (Interval::Update, Some(Outcome::Skipped)) => continue,
            (Interval::Update, Some(Outcome::Applied)) => "the update",
            (Interval::Update, None) => "a window without an update",
            (Interval::Epoch, _) => "the epochs that end here",
        };
        let seen = count(ticks.seen, "scheduler tick");
        let message = format!("{seen} where the contract declares {} for {per}", ticks.declared);
        // A tick too many is there to be pointed at; for one too few the step that lacks it is.
        let extra = rank.trace.scheduler_steps.iter().rev().find(|_| ticks.seen > ticks.declared);
        let step = rank.trace.steps.last().map(|(tick, _)| tick);
        let place = match extra.or(step) {
            Some(tick) => judged.clock.place(rank, tick.index),
            None => judged.clock.place_of(rank),
        };
        let magnitude = ticks.seen.abs_diff(ticks.declared) as f64;
        findings.report(Finding::new(Code::GA302, place, message).with_magnitude(magnitude));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::find_in;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use serde_json::Value;
    use serde_json::json;

    fn scheduler(with: Value) -> Value {
        let mut scheduler = json!({"name": "recorded"});
        scheduler.as_object_mut().expect("an object").extend(with.as_object().expect("an object").clone());
        json!({"scheduler": scheduler})
    }

    #[test]
    fn one_tick_an_update() {
        let once = || scheduler(json!({}));
        assert_eq!(fires(&RULE, once(), &["tick b b b step tick zero | b b b step zero tick | b b b skip"]), 0);
        assert_eq!(
            message(&RULE, once(), &["b tick b tick b step tick"]),
            "3 scheduler ticks where the contract declares 1 for the update"
        );
        assert_eq!(
            message(&RULE, once(), &["b b b step zero | b b b step tick"]),
            "no scheduler tick where the contract declares 1 for the update"
        );
        assert_eq!(
            message(&RULE, once(), &["b b b step tick zero | b b tick end"]),
            "1 scheduler tick where the contract declares 0 for a window without an update"
        );
        assert_eq!(fires(&RULE, json!({}), &["b b b step"]), 0, "no scheduler, no ticks");
        assert_eq!(fires(&RULE, json!({"scheduler": {"name": "recorded"}, "unobserved": ["scheduler_step"]}), &["b b b step"]), 0);
    }

    #[test]
    fn declared_ticks_count() {
        let twice = || scheduler(json!({"ticks": 2}));
        assert_eq!(fires(&RULE, twice(), &["b b b step tick tick"]), 0);
        assert_eq!(fires(&RULE, twice(), &["b b b step tick"]), 1);
        assert_eq!(fires(&RULE, twice(), &["b b b step tick tick tick tick"]), 1);
    }

    #[test]
    fn ticks_follow_the_steps_that_another_rule_counts() {
        let once = || scheduler(json!({}));
        assert_eq!(fires(&RULE, once(), &["b step tick b step tick b step tick"]), 0);
        assert_eq!(fires(&RULE, once(), &["b b b tick zero"]), 0);
        assert_eq!(fires(&RULE, once(), &["b b b tick tick zero"]), 1);
    }

    #[test]
    fn what_a_cut_took_away_is_not_missed() {
        let cut = |script: &str| find_in(&RULE, scheduler(json!({})), None, true, &[script]).len();
        assert_eq!(cut("b b b step tick zero | b b b step"), 0);
        assert_eq!(cut("b b b step zero | b b b step"), 1);
        assert_eq!(cut("b b b step tick zero | b b b step tick tick"), 1);
    }

    #[test]
    fn before_the_step_is_inside_the_window_or_at_the_top_of_the_loop() {
        let before = || scheduler(json!({"position": "before"}));
        assert_eq!(fires(&RULE, before(), &["b b b tick step zero | b b b tick step"]), 0);
        assert_eq!(fires(&RULE, before(), &["tick b b b step zero tick | b b b step"]), 0);
        assert_eq!(fires(&RULE, before(), &["b b b step zero | b b b tick tick step"]), 2);
        assert_eq!(fires(&RULE, before(), &["b tick b tick b tick step"]), 1);
    }

    #[test]
    fn once_an_epoch() {
        let epoch = || scheduler(json!({"interval": "epoch"}));
        let good = "b b b step zero | b b b step zero tick end | b b b step zero end tick";
        assert_eq!(fires(&RULE, epoch(), &[good]), 0);
        assert_eq!(fires(&RULE, epoch(), &["b b b step zero | b b b step"]), 0, "the stream's end may be no epoch's");
        assert_eq!(fires(&RULE, epoch(), &["b b b step zero | b b b step tick"]), 0, "or it may");
        assert_eq!(fires(&RULE, epoch(), &["b b b step zero | b b b step end"]), 1);
        assert_eq!(
            message(&RULE, epoch(), &["b b b step tick zero | b b b step tick end"]),
            "1 scheduler tick where the contract declares 0 for the epochs that end here"
        );
        let at_the_top = scheduler(json!({"interval": "epoch", "position": "before"}));
        assert_eq!(fires(&RULE, at_the_top, &["tick b b b step zero end tick | b b b step end"]), 0);
    }
}

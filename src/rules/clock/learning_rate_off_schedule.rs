//! GA307.
use crate::clock::RankClock;
use crate::clock::Rate;
use crate::clock::schedule;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::manifest::contract::Scheduler;
use crate::manifest::contract::Unobserved;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Compares every recorded learning rate, of a step and of a scheduler's tick, with the declared schedule at the
    /// index that the contract owes there: `linear`, `cosine` and `constant` are computed, `recorded` declares nothing
    /// to compare. The comparison is relative; a rate of exactly 0 is compared within the tolerance of the peak.
    ///
    /// ## Why it is wrong
    /// The schedule is part of the recipe. A rate that belongs to another index means that the schedule was laid out in
    /// another unit (microbatches, or the updates of all processes together) or that the clock ran away; where the rate
    /// is the schedule's at index·K or index·W, the finding says so.
    ///
    /// ## What to do
    /// Lay out warm-up and total in optimizer updates, of one process: microbatches / K, rounded up per epoch if
    /// tails are flushed. If ticks come too often, GA302 shows where.
    GA307, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    let Some(scheduler) = &judged.contract.scheduler else { return };
    let relative = judged.contract.tolerance.relative.get();
    let ticks_seen = judged.contract.observes(Unobserved::SchedulerStep);
    for rank in judged.clock.ranks.iter().filter(|rank| rank.has_one_meaning()) {
        for rate in rank.rates.iter().filter(|rate| ticks_seen || !rate.is_tick) {
            let references = rate.indices.iter().filter_map(|&j| Some((j, schedule::rate(scheduler, j)?)));
            let references: Vec<(u64, f64)> = references.collect();
            let agrees = |&(_, reference): &(u64, f64)| is_near(scheduler, rate.recorded, reference, relative);
            if references.iter().any(agrees) {
                continue;
            }
            if let Some(&(index, reference)) = references.first() {
                findings.report(finding(judged, rank, rate, index, reference));
            }
        }
    }
}

fn finding(judged: &Judged<'_>, rank: &RankClock, rate: &Rate, index: u64, reference: f64) -> Finding {
    let recorded = rate.recorded;
    let what = if rate.is_tick { "the tick set" } else { "the step used" };
    let instead = elsewhere(judged, recorded, index).unwrap_or_default();
    let message = format!("{what} learning rate {recorded} where the schedule has {reference} at index {index}{instead}");
    let field = if rate.is_tick { "/scheduler_step/learning_rate" } else { "/optimizer_step/learning_rate" };
    let place = judged.clock.place(rank, rate.index).at(field);
    let size = ((recorded - reference) / reference).abs();
    Finding::new(Code::GA307, place, message).with_magnitude(if size.is_finite() { size } else { f64::MAX })
}

/// Whether the rate is the schedule's at a multiple of the index.
fn elsewhere(judged: &Judged<'_>, recorded: f64, index: u64) -> Option<String> {
    let scheduler = judged.contract.scheduler.as_ref()?;
    let relative = judged.contract.tolerance.relative.get();
    let (steps, ranks) = (judged.clock.declared, judged.contract.world_size.get());
    let multiples = [("K", steps), ("W", ranks)].into_iter().filter(|(_, factor)| *factor > 1);
    multiples
        .filter_map(|(name, factor)| Some((name, factor, index.checked_mul(factor)?)))
        .find(|(_, _, at)| {
            schedule::rate(scheduler, *at).is_some_and(|rate| is_near(scheduler, recorded, rate, relative))
        })
        .map(|(name, factor, at)| format!("; it is the schedule's at {at}, which is index·{name} ({factor})"))
}

/// A scheduler that computes each rate from the one before (PyTorch's chainable form) rounds a little every tick.
const ROUNDING: f64 = 1e-12;

/// Relative alone; a reference of exactly 0 has the peak's size.
fn is_near(scheduler: &Scheduler, recorded: f64, reference: f64, relative: f64) -> bool {
    let size = if reference == 0.0 { schedule::peak(scheduler).abs() } else { reference.abs() };
    (recorded - reference).abs() <= relative.max(ROUNDING) * size
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use serde_json::Value;
    use serde_json::json;

    fn linear(with: Value) -> Value {
        let mut scheduler = json!({"name": "linear", "peak": 0.1, "warmup_steps": 0, "total_steps": 10});
        scheduler.as_object_mut().expect("an object").extend(with.as_object().expect("an object").clone());
        json!({"scheduler": scheduler})
    }

    #[test]
    fn follows_updates_not_windows() {
        let good = "b b b step~0.1 tick=0.09 zero | b b b skip~0.09 zero | b b b step~0.09 tick=0.08";
        assert_eq!(fires(&RULE, linear(json!({})), &[good]), 0);
        let mut advance = linear(json!({}));
        advance["on_skip"] = json!({"scheduler": "advance"});
        let good = "b b b step~0.1 tick=0.09 zero | b b b skip~0.09 tick=0.08 zero | b b b step~0.08 tick=0.07";
        assert_eq!(fires(&RULE, advance, &[good]), 0);
    }

    #[test]
    fn a_tick_that_no_update_owes_has_no_index() {
        assert_eq!(fires(&RULE, linear(json!({})), &["tick=7 b b b step~0.1 tick=0.09"]), 0, "before the run begins");
        assert_eq!(fires(&RULE, linear(json!({})), &["b b b skip tick=7"]), 0, "that is GA306's");
        assert_eq!(fires(&RULE, linear(json!({})), &["b tick=7 b b step~0.1"]), 1, "an early one has the next");
    }

    #[test]
    fn says_whose_index_it_is() {
        assert_eq!(
            message(&RULE, linear(json!({})), &["b b b step~0.1 zero | b b b step~0.07"]),
            "the step used learning rate 0.07 where the schedule has 0.09000000000000001 at index 1; it is the schedule's at 3, which is \
             index·K (3)"
        );
        assert_eq!(
            message(&RULE, linear(json!({})), &["b b b step~0.1 tick=0.05"]),
            "the tick set learning rate 0.05 where the schedule has 0.09000000000000001 at index 1"
        );
        let mut two = linear(json!({}));
        two["world_size"] = json!(2);
        let found = message(&RULE, two, &["b b b step~0.1 | b b b step~0.08", "b b b step~0.1 | b b b step~0.09"]);
        assert!(found.ends_with("it is the schedule's at 2, which is index·W (2)"), "{found}");
    }

    #[test]
    fn declared_ticks_stretch_the_index() {
        let twice = || linear(json!({"ticks": 2}));
        let good = "b b b step~0.1 tick=0.09 tick=0.08 zero | b b b step~0.08 tick=0.07 tick=0.06";
        assert_eq!(fires(&RULE, twice(), &[good]), 0);
        assert_eq!(fires(&RULE, twice(), &["b b b step~0.1 zero | b b b step~0.09"]), 1);
    }

    #[test]
    fn a_tick_before_the_step_may_start_at_0_or_1() {
        let before = || linear(json!({"position": "before"}));
        for good in [
            "b b b tick=0.1 step~0.1 zero | b b b tick=0.09 step~0.09",
            "b b b tick=0.09 step~0.09 zero | b b b tick=0.08 step~0.08",
            "tick=0.1 b b b step~0.1 zero tick=0.09 | b b b step~0.09",
        ] {
            assert_eq!(fires(&RULE, before(), &[good]), 0, "{good}");
        }
        assert_eq!(fires(&RULE, before(), &["b b b tick=0.08 step~0.08"]), 2);
    }

    #[test]
    fn an_epoch_is_an_index() {
        let epoch = || linear(json!({"interval": "epoch"}));
        let good = "b b b step~0.1 zero | b b b step~0.1 zero tick=0.09 end | b b b step~0.09 zero end tick=0.08";
        assert_eq!(fires(&RULE, epoch(), &[good]), 0);
        assert_eq!(fires(&RULE, epoch(), &["b b b step~0.1 zero | b b b step~0.09"]), 1);
    }

    #[test]
    fn zero_is_compared_with_the_peak() {
        let warmup = || linear(json!({"warmup_steps": 5}));
        assert_eq!(fires(&RULE, warmup(), &["b b b step~1e-11"]), 0);
        assert_eq!(fires(&RULE, warmup(), &["b b b step~1e-9"]), 1);
    }

    #[test]
    fn any_values_are_right_where_recorded_is_declared() {
        assert_eq!(fires(&RULE, json!({"scheduler": {"name": "recorded"}}), &["b b b step~9 tick=7"]), 0);
        assert_eq!(fires(&RULE, json!({}), &["b b b step~9 tick=7"]), 0);
    }
}

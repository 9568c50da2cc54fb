//! GA601.
use super::ending::Contents;
use super::ending::Fault;
use crate::clock::Phase;
use crate::clock::RankClock;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Place;
use crate::manifest::contract::Tail;
use crate::manifest::contract::Unobserved;
use crate::manifest::event::Event;
use crate::manifest::window::RankWindow;
use crate::rules::Check;
use crate::rules::Judged;
use crate::rules::clock::count;

rule! {
    /// ## What it does
    /// Checks that a window which the end of the data left with fewer than K microbatches was treated as declared.
    ///
    /// * Under `flush` it is stepped, not left, carried or dropped.
    /// * Under `drop` it is not stepped, and its gradients do not reach the next window.
    /// * Under `carry` an epoch's end does not end it; at the end of the stream a `carry` event keeps it.
    ///
    /// It also finds a window that runs on into the next epoch under `flush` or `drop`, a `carry` or `drop` that lists
    /// other microbatches or totals than the window has, and an epoch of which the data offered more microbatches than
    /// were seen.
    ///
    /// ## Why it is wrong
    /// A tail that is left unstepped is data that never trains. One that runs on mixes two epochs in one update, often
    /// with the denominators of both. Microbatches that were offered and never seen are lost data without any trace in
    /// the loss.
    ///
    /// ## What to do
    /// Step at the last microbatch of an epoch, divided by the short window's own count of targets, or declare what your
    /// loop does. `drop_last=True` and `max_steps` are the usual causes of lost microbatches. Where the run crashed or still
    /// goes on, its last window is no tail: `--partial` leaves it out.
    GA601, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    for (position, (rank, recorded)) in judged.clock.ranks.iter().zip(&judged.window.ranks).enumerate() {
        let treatment = if judged.clock.is_tail && rank.microbatches < judged.clock.declared {
            treatment(judged, rank, recorded)
        } else {
            None
        };
        let faults = [treatment, runs_on(judged, rank)];
        for (place, message) in faults.into_iter().flatten().chain(wrong_ending(judged, position)) {
            let magnitude = rank.microbatches as f64;
            findings.report(Finding::new(Code::GA601, place, message).with_magnitude(magnitude));
        }
        unseen(judged, rank, findings);
    }
}

/// A tail that was not treated as declared.
fn treatment(judged: &Judged<'_>, rank: &RankClock, recorded: &RankWindow) -> Option<(Place, String)> {
    let declared = judged.contract.tail;
    let size = count(rank.microbatches, "microbatch");
    let tail = format!("a window of {size} at the end of the data (a full one has {})", judged.clock.declared);
    let step = rank.trace.steps.first().map(|(tick, _)| tick.index);
    let ending = rank.trace.endings.first();
    let said = ending.and_then(|tick| recorded.events.get(tick.position)).map(|indexed| indexed.event.tag());
    let was = match (declared, step, said) {
        (Tail::Flush, Some(_), _) => return None,
        (Tail::Flush, None, None) => "was left unstepped, where the contract declares flush",
        (Tail::Flush, None, Some("carry")) => "was carried, where the contract declares flush",
        (Tail::Flush, None, Some(_)) => "was dropped, where the contract declares flush",
        (Tail::Carry, Some(_), _) => "was stepped, where the contract declares carry",
        (Tail::Carry, None, Some("carry")) => return None,
        (Tail::Carry, None, Some(_)) => "was dropped, where the contract declares carry",
        (Tail::Carry, None, None) => "was left, where the contract declares carry",
        (Tail::Drop, Some(_), _) => "was stepped, where the contract declares drop",
        (Tail::Drop, None, Some("carry")) => "was carried, where the contract declares drop",
        (Tail::Drop, None, Some(_)) => return None,
        (Tail::Drop, None, None) if leaks(judged, rank) => "was neither dropped nor cleared before the next window",
        (Tail::Drop, None, None) => return None,
    };
    let place = match step.or(ending.map(|tick| tick.index)) {
        Some(index) => judged.clock.place(rank, index),
        None => judged.clock.place_of(rank),
    };
    Some((place, format!("{tail} {was}")))
}

/// Whether a tail's gradients are still there when the next window begins.
fn leaks(judged: &Judged<'_>, rank: &RankClock) -> bool {
    !judged.clock.is_last && judged.contract.observes(Unobserved::ZeroGrad) && rank.trace.zero_after.is_none()
}

/// A window with an epoch's end between its backwards.
fn runs_on(judged: &Judged<'_>, rank: &RankClock) -> Option<(Place, String)> {
    let end = rank.trace.epoch_ends.iter().find(|tick| tick.phase == Phase::Accumulating)?;
    if judged.contract.tail == Tail::Carry {
        return None;
    }
    let after = rank.trace.backwards.iter().filter(|backward| backward.position > end.position).count();
    let all = count(rank.trace.counts.backward, "microbatch");
    let message = format!("the window runs on into the next epoch, with {after} of its {all}");
    Some((judged.clock.place(rank, end.index), message))
}

/// A `carry` or `drop` that is not about what the window holds. In a window that was carried in, it may list the window
/// or what was recorded here of it.
fn wrong_ending(judged: &Judged<'_>, rank: usize) -> Option<(Place, String)> {
    let (clock, recorded) = (judged.clock.ranks.get(rank)?, judged.window.ranks.get(rank)?);
    let is_done = !clock.trace.steps.is_empty() && clock.microbatches >= judged.clock.declared;
    let mut endings = clock.trace.endings.iter().filter_map(|tick| recorded.events.get(tick.position));
    endings.find_map(|indexed| {
        let (what, (field, message)) = match &indexed.event {
            Event::Carry(carry) if is_of_next(judged, carry.window.get(), carry.microbatches.len()) => return None,
            Event::Carry(_) | Event::Drop(_) if is_done => {
                let done = if matches!(indexed.event, Event::Carry(_)) { "carried" } else { "dropped" };
                let message = format!("a full window was stepped and then {done}");
                return Some((judged.clock.place(clock, indexed.index), message));
            }
            Event::Carry(carry) => ("the carry", unlike(judged, rank, |contents| contents.carried(carry))?),
            Event::Drop(drop) => ("the drop", unlike(judged, rank, |contents| contents.dropped(drop))?),
            _ => return None,
        };
        Some((judged.clock.place(clock, indexed.index).at(field), format!("{what} {message}")))
    })
}

/// The fault of a list against the window as a whole, unless it has none against what was recorded here.
fn unlike(judged: &Judged<'_>, rank: usize, fault: impl Fn(&Contents<'_>) -> Option<Fault>) -> Option<Fault> {
    let found = fault(&Contents::all(judged, rank)?)?;
    fault(&Contents::own(judged, rank)?).map(|_| found)
}

/// A run that ends between two windows may carry the next one, empty.
fn is_of_next(judged: &Judged<'_>, window: u64, microbatches: usize) -> bool {
    microbatches == 0 && judged.clock.window.checked_add(1) == Some(window)
}

/// Epochs of which the data offered more than was seen.
fn unseen(judged: &Judged<'_>, rank: &RankClock, findings: &mut Findings) {
    for end in &rank.epochs {
        let Some((offered, seen)) = end.offered.zip(end.seen).filter(|(offered, seen)| seen < offered) else { continue };
        let offers = count(offered, "microbatch");
        let message = format!("the data offered {offers} in the epoch, of which {seen} were seen");
        let place = judged.clock.place(rank, end.index).at("/epoch_end/microbatches");
        findings.report(Finding::new(Code::GA601, place, message).with_magnitude((offered - seen) as f64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::find;
    use crate::rules::clock::testing::find_in_manifest;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use serde_json::Value;
    use serde_json::json;

    fn tail(policy: &str) -> Value {
        json!({ "tail": policy })
    }

    #[test]
    fn each_policy_has_its_right_ending() {
        for (policy, good) in [
            ("flush", "b b b step zero | b b step zero end=5 | b b b step zero | b step end=4"),
            ("flush", "b b b step zero | b b end step zero | b b b skip"),
            ("carry", "b b b step zero | b b end b step zero | b b b step zero | b carry end"),
            ("drop", "b b b step zero | b b drop zero end=5 | b b b step zero | b drop"),
            ("drop", "b b b step zero | b b end zero | b b b step zero | b"),
        ] {
            let found = find(&RULE, tail(policy), &[good]);
            assert!(found.is_empty(), "{policy}: {good}: {found:?}");
        }
    }

    #[test]
    fn another_ending_is_wrong() {
        let found = |policy, script| message(&RULE, tail(policy), &[script]);
        let tail = "a window of 2 microbatches at the end of the data (a full one has 3) was";
        for (policy, script, was) in [
            ("flush", "b b zero end | b b b step", "left unstepped, where the contract declares flush"),
            ("flush", "b b", "left unstepped, where the contract declares flush"),
            ("flush", "b b drop", "dropped, where the contract declares flush"),
            ("flush", "b b carry", "carried, where the contract declares flush"),
            ("carry", "b b step end zero | b b b step", "stepped, where the contract declares carry"),
            ("carry", "b b drop", "dropped, where the contract declares carry"),
            ("carry", "b b", "left, where the contract declares carry"),
            ("drop", "b b step", "stepped, where the contract declares drop"),
            ("drop", "b b carry", "carried, where the contract declares drop"),
            ("drop", "b b end | b b b step", "neither dropped nor cleared before the next window"),
        ] {
            assert_eq!(found(policy, script), format!("{tail} {was}"), "{script}");
        }
        assert_eq!(found("carry", "b b b step zero carry"), "a full window was stepped and then carried");
        assert_eq!(fires(&RULE, json!({"tail": "carry"}), &["b b step zero | b b b step"]), 0, "short, but no tail");
        assert_eq!(fires(&RULE, json!({}), &["b b zero | b b b step"]), 0, "short, but no tail");
        let blind = json!({"tail": "drop", "unobserved": ["zero_grad"]});
        assert_eq!(fires(&RULE, blind, &["b b end | b b b step"]), 0);
    }

    #[test]
    fn a_window_stays_in_its_epoch() {
        let runs_on = "b b end b step";
        let found = "the window runs on into the next epoch, with 1 of its 3 microbatches";
        assert_eq!(message(&RULE, tail("flush"), &[runs_on]), found);
        assert_eq!(message(&RULE, tail("drop"), &[runs_on]), found);
        assert_eq!(fires(&RULE, tail("carry"), &[runs_on]), 0);
    }

    #[test]
    fn a_carry_or_drop_lists_its_window() {
        let listed = |policy: &str, ending: Value| {
            let events = json!([
                {"backward": {"window": 0, "microbatch": "a", "valid_targets": 2, "loss_sum": 1.5, "gradient_sum": [1.0, 2.0]}},
                {"backward": {"window": 0, "microbatch": "b", "valid_targets": 3, "loss_sum": 2.5, "gradient_sum": [0.5, -2.0]}},
                ending,
            ]);
            let contract = json!({"formula": "token-mean/1", "accumulation_steps": 3, "world_size": 1, "tail": policy,
                "tolerance": {"absolute": 1e-9, "relative": 0.0}, "precision": "float64",
                "gradient_basis": {"kind": "coordinates", "dimension": 2}});
            let text = json!({"schema": "accumulation/rank-manifest/1", "contract": contract,
                "ranks": [{"rank": 0, "events": events}]});
            let found = find_in_manifest(&[&RULE], &text.to_string());
            found.into_iter().next().map(|folded| (folded.place.field.unwrap_or_default(), folded.message))
        };
        let carry = |field: &str, value: Value| {
            let mut carry = json!({"window": 0, "microbatches": ["a", "b"], "valid_targets": 5, "loss_sum": 4.0,
                "backwards": 2, "gradient_sum": [1.5, 0.0]});
            carry[field] = value;
            listed("carry", json!({ "carry": carry }))
        };
        assert_eq!(carry("loss_sum", json!(4.0 + 1e-12)), None);
        for (field, value, at, message) in [
            ("window", json!(1), "", "names window 1 in window 0"),
            ("microbatches", json!(["a"]), "", "lists 1 of the window's 2 microbatches"),
            ("microbatches", json!(["a", "c"]), "/1", "lists c where the window has b"),
            ("valid_targets", json!(6), "", "has 6 valid targets where the window has 5"),
            ("backwards", json!(3), "", "counts 3 backwards where the window has 2"),
            ("loss_sum", json!(5.0), "", "has loss sum 5 where the window has 4"),
            ("gradient_sum", json!([1.5, 1.0]), "/1", "has gradient sum 1 where the window has 0"),
        ] {
            assert_eq!(carry(field, value), Some((format!("/carry/{field}{at}"), format!("the carry {message}"))));
        }
        let drop = |targets: u64| listed("drop", json!({"drop": {"window": 0, "microbatches": ["a", "b"], "valid_targets": targets}}));
        assert_eq!(drop(5), None);
        assert_eq!(drop(4).expect("one").1, "the drop has 4 valid targets where the window has 5");
    }

    #[test]
    fn a_window_carried_in_is_listed_whole_or_in_its_own_part() {
        let found = |listed: Value, targets: u64, losses: f64| {
            let resume = json!({"window": 0, "applied_updates": 0, "previous_receipt": crate::canonical::Digest::of(b"x"),
                "ranks": [{"rank": 0, "microbatches": [{"microbatch": "a", "valid_targets": 2, "loss_sum": 1.5}]}]});
            let backward = json!({"window": 0, "microbatch": "b", "valid_targets": 3, "loss_sum": 2.5});
            let carry = json!({"window": 0, "backwards": listed.as_array().map(Vec::len), "microbatches": listed,
                "valid_targets": targets, "loss_sum": losses});
            let contract = json!({"formula": "token-mean/1", "accumulation_steps": 3, "world_size": 1, "tail": "carry",
                "tolerance": {"absolute": 1e-9, "relative": 0.0}, "precision": "float64"});
            let text = json!({"schema": "accumulation/rank-manifest/1", "contract": contract, "resume": resume,
                "ranks": [{"rank": 0, "events": [{"backward": backward}, {"carry": carry}]}]});
            find_in_manifest(&[&RULE], &text.to_string()).into_iter().map(|folded| folded.message).collect::<Vec<_>>()
        };
        assert_eq!(found(json!(["a", "b"]), 5, 4.0), [] as [&str; 0]);
        assert_eq!(found(json!(["b"]), 3, 2.5), [] as [&str; 0]);
        assert_eq!(found(json!(["a", "b"]), 3, 4.0), ["the carry has 3 valid targets where the window has 5"]);
        assert_eq!(found(json!(["a", "b"]), 5, 2.5), ["the carry has loss sum 2.5 where the window has 4"]);
        assert_eq!(found(json!(["a"]), 2, 1.5), ["the carry lists 1 of the window's 2 microbatches"]);
    }

    #[test]
    fn all_that_was_offered_is_seen() {
        assert_eq!(
            message(&RULE, tail("flush"), &["b b b step zero | b b b step end=7"]),
            "the data offered 7 microbatches in the epoch, of which 6 were seen"
        );
        assert_eq!(fires(&RULE, tail("flush"), &["b b b step zero end=3 | b b b step end=4"]), 1);
        assert_eq!(fires(&RULE, tail("flush"), &["b b b step zero end=3 end=3 | b b b step end=2"]), 0);
    }

    #[test]
    fn an_epoch_whose_beginning_was_not_recorded_is_not_counted() {
        assert_eq!(fires(&RULE, tail("flush"), &["restore=9#9 b b b step zero end=7 | b b b step end=4"]), 1);
        let restored = "b b b step zero | b b b step restore=1#1 b b b step end=";
        assert_eq!(fires(&RULE, tail("flush"), &[&format!("{restored}6")]), 0);
        assert_eq!(fires(&RULE, tail("flush"), &[&format!("{restored}9")]), 1);
    }
}

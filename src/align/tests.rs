//! The aligner on small runs, by hand.
use super::*;
use crate::manifest::resume::Resume;
use serde_json::{Value, json};

/// A stream of events given as JSON.
struct Given {
    rank: u64,
    events: std::vec::IntoIter<(u64, Event)>,
}

impl EventStream for Given {
    fn rank(&self) -> u64 {
        self.rank
    }

    fn next(&mut self, _: &mut Findings) -> Option<Indexed> {
        self.events.next().map(|(index, event)| Indexed { index, event })
    }
}

fn stream(rank: u64, events: &[Value]) -> Given {
    let parse = |(index, event): (usize, &Value)| {
        let event = serde_json::from_value(event.clone()).unwrap_or_else(|e| panic!("{event}: {e}"));
        (index as u64, event)
    };
    Given { rank, events: events.iter().enumerate().map(parse).collect::<Vec<_>>().into_iter() }
}

fn contract(steps: u64, world_size: u64) -> Contract {
    serde_json::from_value(json!({
        "formula": "token-mean/1", "accumulation_steps": steps, "world_size": world_size, "tail": "flush",
        "tolerance": {"absolute": 0.0, "relative": 1e-9}, "precision": "float64", "gradient_reduction": "mean"
    }))
    .expect("a contract")
}

fn backward(window: u64, id: &str) -> Value {
    json!({"backward": {"window": window, "microbatch": id, "valid_targets": 2, "loss_sum": 1.0}})
}

fn step(window: u64) -> Value {
    json!({"optimizer_step": {"window": window, "outcome": "applied"}})
}

/// A window and its number of events on each rank.
type Shown = (u64, Vec<usize>);

/// The windows that come out, with the number of events on each rank; the findings' codes; the superseded microbatches.
fn run(
    contract: &Contract,
    resume: Option<&Resume>,
    partial: bool,
    ranks: &[&[Value]],
) -> (Vec<Shown>, Vec<Code>, u64) {
    let streams = ranks.iter().enumerate().map(|(rank, events)| stream(rank as u64, events)).collect();
    let mut findings = Findings::default();
    let mut aligner = Aligner::new(contract, resume, partial, streams);
    let mut windows = vec![];
    while let Some(window) = aligner.next(&mut findings) {
        let events = window.ranks.iter().map(|rank| rank.events.len() + rank.late.len()).collect();
        windows.push((window.window, events));
    }
    (windows, findings.codes().collect(), aligner.superseded())
}

#[test]
fn what_follows_a_step_belongs_to_the_window_begun() {
    let events = [json!("zero_grad"), backward(0, "a"), step(0), json!("zero_grad"), backward(1, "b"), step(1)];
    let (windows, codes, _) = run(&contract(1, 1), None, false, &[&events]);
    assert_eq!((windows, codes), (vec![(0, vec![4]), (1, vec![2])], vec![]));
}

#[test]
fn a_gap_is_found_and_reading_goes_on() {
    let events = [backward(0, "a"), step(0), backward(2, "b"), step(2), backward(2, "a"), step(2)];
    let (windows, codes, _) = run(&contract(1, 1), None, false, &[&events]);
    assert_eq!(windows.len(), 2);
    assert_eq!(codes, [Code::GA108, Code::GA111]);
}

#[test]
fn ranks_in_different_windows() {
    let (_, codes, _) =
        run(&contract(1, 2), None, false, &[&[backward(0, "a"), step(0)], &[backward(1, "b"), step(1)]]);
    assert_eq!(codes, [Code::GA111]);
}

#[test]
fn a_rank_that_ends_early() {
    let long = [backward(0, "a"), step(0), backward(1, "b"), step(1)];
    let short = [backward(0, "c"), step(0)];
    assert_eq!(run(&contract(1, 2), None, false, &[&long, &short]).1, [Code::GA111]);
    let (windows, codes, _) = run(&contract(1, 2), None, true, &[&long, &short]);
    assert_eq!((windows.len(), codes), (1, vec![]), "under --partial the rest is left out");
}

#[test]
fn an_open_window_is_left_out_under_partial_only() {
    let long = [backward(0, "a"), step(0), backward(1, "b")];
    let short = [backward(0, "c"), step(0), backward(1, "d"), step(1)];
    assert_eq!(run(&contract(1, 2), None, true, &[&long, &short]).0.len(), 1);
    assert_eq!(run(&contract(1, 2), None, false, &[&long, &short]).0.len(), 2);
}

#[test]
fn a_restore_supersedes_even_where_ranks_crashed_apart() {
    let restore = json!({"restore": {"window": 1, "applied_updates": 1}});
    let first = [
        backward(0, "a0"),
        step(0),
        backward(1, "a1"),
        step(1),
        backward(2, "a2"),
        restore.clone(),
        backward(1, "a3"),
        step(1),
    ];
    let second = [backward(0, "b0"), step(0), backward(1, "b1"), restore, backward(1, "b2"), step(1)];
    let (windows, codes, superseded) = run(&contract(1, 2), None, false, &[&first, &second]);
    assert_eq!(windows, [(0, vec![2, 2]), (1, vec![3, 3])]);
    assert_eq!((codes, superseded), (vec![], 3));
}

#[test]
fn a_restore_reaches_back_so_far_and_no_farther() {
    for (windows, code) in [(limits::RESTORE, None), (limits::RESTORE + 1, Some(Code::GA115))] {
        let mut events: Vec<Value> =
            (0..windows).flat_map(|window| [backward(window, &format!("a{window}")), step(window)]).collect();
        events.push(json!({"restore": {"window": 0, "applied_updates": 0}}));
        events.extend([backward(0, "b"), step(0)]);
        let (_, codes, _) = run(&contract(1, 1), None, false, &[&events]);
        assert_eq!(codes, code.into_iter().collect::<Vec<_>>(), "{windows} windows back");
    }
}

#[test]
fn a_restore_forward_is_a_gap() {
    let events =
        [backward(0, "a"), step(0), json!({"restore": {"window": 3, "applied_updates": 1}}), backward(3, "b"), step(3)];
    assert_eq!(run(&contract(1, 1), None, false, &[&events]).1, [Code::GA111]);
}

#[test]
fn a_late_log_reaches_its_window() {
    let logged = json!({"logged": {"window": 0, "loss": 0.5}});
    let events = [backward(0, "a"), step(0), backward(1, "b"), logged, step(1)];
    let (windows, _, _) = run(&contract(1, 1), None, false, &[&events]);
    assert_eq!(windows, [(0, vec![3]), (1, vec![2])]);
}

#[test]
fn structure_over_ranks() {
    let two = [backward(0, "a"), backward(0, "b"), step(0)];
    let one = [backward(0, "c"), step(0)];
    assert_eq!(run(&contract(2, 2), None, false, &[&two, &one]).1, [Code::GA112]);
    let dropped = json!({"drop": {"window": 0, "microbatches": ["c"], "valid_targets": 2}});
    let kept = [backward(0, "a"), step(0)];
    assert_eq!(run(&contract(2, 2), None, false, &[&kept, &[backward(0, "c"), dropped]]).1, [Code::GA114]);
    assert_eq!(run(&contract(1, 2), None, false, &[&kept, &[backward(0, "c")]]).1, [], "a full window is GA301's");
}

#[test]
fn a_window_without_targets_or_with_some_vectors() {
    let empty = json!({"backward": {"window": 0, "microbatch": "a", "valid_targets": 0, "loss_sum": 0.0}});
    assert_eq!(run(&contract(1, 1), None, false, &[&[empty.clone(), step(0)]]).1, [Code::GA113]);
    assert_eq!(run(&contract(1, 1), None, false, &[&[empty]]).1, [], "not stepped");
    let with = json!({"backward":
        {"window": 0, "microbatch": "b", "valid_targets": 2, "loss_sum": 1.0, "gradient_sum": [1.0]}});
    assert_eq!(run(&contract(2, 1), None, false, &[&[backward(0, "a"), with, step(0)]]).1, [Code::GA109]);
}

#[test]
fn a_run_without_windows_proves_nothing() {
    assert_eq!(run(&contract(1, 1), None, false, &[&[json!("zero_grad")]]).1, [Code::GA111]);
    assert_eq!(run(&contract(1, 1), None, true, &[&[]]).1, [], "it may have just begun");
}

#[test]
fn a_resumed_window_counts_what_was_carried() {
    let resume: Resume = serde_json::from_value(json!({
        "previous_receipt": "00".repeat(32), "window": 7, "applied_updates": 7,
        "ranks": [{"rank": 0, "microbatches": [{"microbatch": "old", "valid_targets": 3, "loss_sum": 1.0}]}]
    }))
    .expect("a resume");
    let fresh = [backward(7, "new"), step(7)];
    assert_eq!(run(&contract(2, 1), Some(&resume), false, &[&fresh]).1, []);
    assert_eq!(run(&contract(2, 1), Some(&resume), false, &[&[backward(7, "old"), step(7)]]).1, [Code::GA108]);
    assert_eq!(run(&contract(2, 1), Some(&resume), false, &[&[backward(8, "new"), step(8)]]).1, [Code::GA111]);
}

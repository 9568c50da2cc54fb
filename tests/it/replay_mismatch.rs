//! GA703: a recompute that does not come out the same is found where it is, and nothing is said of that window.
use crate::fixtures::fault::replay;
use crate::runs;
use receipt::autograd::recompute::Mismatch;
use receipt::canonical::Count;
use receipt::finding::{Code, Findings, Place, Severity};
use receipt::manifest::source::SourceName;
use receipt::numeric::float::Precision;
use receipt::replay::fault::{Fault, FaultKind};
use receipt::replay::{Replayed, Trace};
use receipt::rules;

/// A fault in the replay of three windows with dropout and recompute.
fn with(window: u64, index: u64, kind: FaultKind) -> Replayed {
    let run = SourceName::Path(runs::fixture("rules/GA703-recompute-mismatch/good.json"));
    replay(run, Fault { window, rank: 0, index, kind }, 1)
}

const BIT: FaultKind = FaultKind::Bit { element: 7, bit: 51 };

fn trace(replayed: &Replayed) -> &Trace {
    replayed.trace.as_ref().expect("an execution")
}

fn found(replayed: &Replayed) -> Vec<(Code, Severity, Vec<Place>)> {
    let mut findings = Findings::default();
    rules::judge_replay(trace(replayed), &mut findings);
    let places = |instances: &[(Place, String)]| instances.iter().map(|(place, _)| place.clone()).collect();
    findings.into_folded().iter().map(|f| (f.code, f.severity, places(&f.instances))).collect()
}

/// The replay without a fault: that is of a window that the run does not have.
fn sound() -> Replayed {
    let sound = with(99, 0, BIT);
    assert!(trace(&sound).mismatches.is_empty() && sound.report.agrees && found(&sound).is_empty());
    assert_eq!(trace(&sound).windows.len(), 3);
    sound
}

#[test]
fn every_kind_of_fault_is_found_in_its_window_and_nothing_else_is() {
    for kind in [FaultKind::Mask(41), FaultKind::Precision(Precision::Float32), FaultKind::Parameter(1300), BIT] {
        let replayed = with(1, 0, kind);
        let error = (Code::GA703, Severity::Error, vec![Place::window(1)]);
        assert_eq!(found(&replayed), [error], "{kind:?}");
        let mismatch = &trace(&replayed).mismatches[0].mismatch;
        let fits = match kind {
            FaultKind::Mask(_) => matches!(mismatch, Mismatch::Output { .. }),
            FaultKind::Precision(_) => {
                *mismatch == Mismatch::Precision { forward: Precision::Float64, now: Precision::Float32 }
            }
            FaultKind::Parameter(_) => *mismatch == Mismatch::Parameter { parameter: "blocks.1.norm2".to_owned() },
            FaultKind::Bit { element, bit } => matches!(mismatch, Mismatch::Output { element: at, forward, again, .. }
                if *at == element && forward ^ again == 1 << bit),
        };
        assert!(fits, "{kind:?}: {mismatch:?}");
        let windows: Vec<u64> = trace(&replayed).windows.iter().map(|window| window.window).collect();
        assert_eq!(windows, [0, 2], "{kind:?}: of window 1 nothing is given");
    }
}

#[test]
fn the_report_says_what_is_missing() {
    let report = with(1, 0, BIT).report;
    let (judged, off) = (Count::from(2_u32), Count::ZERO);
    assert_eq!((report.windows_judged, report.windows_off, report.agrees), (judged, off, false));
    let left: Vec<_> = report.not_replayed.iter().map(|left| (&*left.reason, left.windows)).collect();
    assert_eq!(left, [("something that was run again did not come out with the same bits", Count::from(1_u32))]);
    assert!(report.cumulative.is_none(), "the run left to itself came through that window too");
    assert!(report.counterexamples.iter().all(|run| run.window != Count::from(1_u32)), "{:?}", report.counterexamples);
    assert!(sound().report.cumulative.is_some());
}

/// The full batch goes through with the microbatches together, so that a fault of the second one befalls the run alone.
#[test]
fn a_fault_of_the_run_alone_changes_nothing_after_it() {
    let replayed = with(1, 1, BIT);
    assert_eq!(found(&replayed), [(Code::GA703, Severity::Error, vec![Place::window(1)])]);
    let (own, sound) = (trace(&replayed), sound());
    assert_eq!(own.windows, [0, 2].map(|at: usize| trace(&sound).windows[at].clone()), "to the bit");
}

/// The pass that counts what is retained goes over the first row of all.
#[test]
fn a_fault_where_memory_is_counted_is_of_the_run() {
    let replayed = with(0, 0, BIT);
    assert_eq!(found(&replayed), [(Code::GA703, Severity::Error, vec![Place::run(), Place::window(0)])]);
    assert!(replayed.report.recomputation.is_none());
    assert!(sound().report.recomputation.is_some());
}

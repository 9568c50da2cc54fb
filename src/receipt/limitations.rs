//! What a verdict does not cover, said in every receipt.
use super::document::Totals;
use crate::judge::Facts;
use crate::ledger::evidence::Presence;
use crate::manifest::contract::{Contract, Evidence, NumeratorSource, Unobserved};
use crate::replay::report::NotReplayed;

/// Where nothing was executed.
const NOT_REPLAYED: &str = "nothing was replayed: the verdict rests on arithmetic and on the order of events";

/// Where something was.
const REPLAYED: &str = "the replay ran another model, a small decoder, on synthetic targets: what it shows is the effect \
                        of weights, order and clocks, not this run's own gradients";

/// Of every receipt of this version.
const ALWAYS: [&str; 2] = [
    "no collective and no mixed-precision kernel ran here: what the manifest records of them is taken as recorded",
    "the verdict says nothing about throughput, convergence or the data itself",
];

/// Of a run that was judged.
pub(super) fn of(contract: &Contract, totals: &Totals, facts: &Facts, partial: bool) -> Vec<String> {
    let replayed = facts.replay.as_ref().is_some_and(|replay| replay.windows_judged.get() > 0);
    let mut limitations = vec![if replayed { REPLAYED } else { NOT_REPLAYED }.to_owned()];
    limitations.extend(ALWAYS.map(str::to_owned));
    limitations.extend(facts.replay.iter().flat_map(|replay| &replay.not_replayed).map(not_replayed));
    limitations.extend(contract.unobserved.iter().map(|&kind| unobserved(kind)));
    let missing = facts.evidence.iter().filter(|(_, presence)| **presence != Presence::All);
    limitations.extend(missing.map(|(kind, presence)| unrecorded(*kind, *presence)));
    if contract.numerator_source == Some(NumeratorSource::ScaledLoss) {
        limitations.push(
            "the loss numerators are the framework's loss times its divisor: a wrong divisor can hide in them"
                .to_owned(),
        );
    }
    if totals.superseded.get() > 0 {
        let superseded = match totals.superseded.get() {
            1 => "1 microbatch was".to_owned(),
            count => format!("{count} microbatches were"),
        };
        limitations.push(format!("{superseded} superseded by a restore and not judged"));
    }
    if partial {
        limitations.push("the run was read as one that still goes on: its open end was left out".to_owned());
    }
    limitations
}

fn not_replayed(left: &NotReplayed) -> String {
    let windows = match left.windows.get() {
        1 => "1 window was".to_owned(),
        count => format!("{count} windows were"),
    };
    format!("{windows} not replayed: {}", left.reason)
}

/// Of a manifest that was rejected.
pub(super) fn of_rejected() -> Vec<String> {
    vec!["the manifest is malformed: nothing was computed".to_owned()]
}

fn unobserved(kind: Unobserved) -> String {
    format!("{} was declared unobserved: no rule about it ran", kind.as_str())
}

fn unrecorded(kind: Evidence, presence: Presence) -> String {
    let what = match presence {
        Presence::All => "everywhere",
        Presence::Some => "only in part of the windows",
        Presence::None => "nowhere",
    };
    format!("evidence of kind {} was recorded {what}", kind.as_str())
}

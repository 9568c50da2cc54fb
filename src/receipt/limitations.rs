//! What a verdict does not cover, said in every receipt.
use super::document::Totals;
use crate::ledger::evidence::Presence;
use crate::manifest::contract::{Contract, Evidence, NumeratorSource, Unobserved};
use std::collections::BTreeMap;

/// Of every receipt of this version.
const ALWAYS: [&str; 3] = [
    "nothing was replayed: the verdict rests on arithmetic and on the order of events",
    "no collective and no mixed-precision kernel ran here: what the manifest records of them is taken as recorded",
    "the verdict says nothing about throughput, convergence or the data itself",
];

/// Of a run that was judged.
pub(super) fn of(
    contract: &Contract,
    totals: &Totals,
    evidence: &BTreeMap<Evidence, Presence>,
    partial: bool,
) -> Vec<String> {
    let mut limitations: Vec<String> = ALWAYS.map(str::to_owned).into();
    limitations.extend(contract.unobserved.iter().map(|&kind| unobserved(kind)));
    let missing = evidence.iter().filter(|(_, presence)| **presence != Presence::All);
    limitations.extend(missing.map(|(kind, presence)| unrecorded(*kind, *presence)));
    if contract.numerator_source == Some(NumeratorSource::ScaledLoss) {
        limitations.push(
            "the loss numerators are the framework's loss times its divisor: a wrong divisor can hide in them"
                .to_owned(),
        );
    }
    if totals.superseded.get() > 0 {
        limitations
            .push(format!("{} microbatches were superseded by a restore and not judged", totals.superseded.get()));
    }
    if partial {
        limitations.push("the run was read as one that still goes on: its open end was left out".to_owned());
    }
    limitations
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

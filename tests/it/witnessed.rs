//! Every leaf of a manifest is bound, and every witnessed kind of leaf fires its rule when it is changed beyond
//! tolerance, in runs that recorded what it is compared with. The table is that of `docs/method.md` §19.
mod docs;
mod small;
mod table;

use crate::reader::run::path;
use crate::runs::edit::{leaves, with};
use crate::runs::{self, document};
use receipt::finding::Code;
use receipt::manifest::source::Memory;
use receipt::pipeline::{Verified, VerifyOptions};
use receipt::receipt::Sealed;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use table::{Change, Row, TABLE};

/// A run in which leaves are changed.
struct Run {
    manifest: Value,
    /// The receipt that it resumes.
    previous: Option<Sealed>,
    /// Only leaves with this in their pointers; the others are those of another run.
    only: &'static str,
    /// Whether all that is witnessed is recorded in it.
    is_full: bool,
}

/// One with nearly all that can be recorded, and those with what it lacks.
fn all() -> Vec<Run> {
    let run = |manifest| Run { manifest, previous: None, only: "", is_full: false };
    let names = ["tail-carry", "tail-drop", "two-ranks"];
    let mut runs = vec![Run { is_full: true, ..run(document("worked/fully-witnessed.json")) }];
    runs.extend(names.iter().map(|name| run(document(&format!("worked/{name}.json")))));
    runs.extend(small::alone().into_iter().map(run));
    runs.push(Run { only: "/carry/", ..run(small::carrying()) });
    let (manifest, previous) = small::resuming();
    runs.push(Run { only: "/resume/", previous: Some(previous), ..run(manifest) });
    runs
}

fn verify(manifest: &Value, previous: Option<&Sealed>) -> Verified {
    let sources = Memory::new().with("m", manifest.to_string());
    let options = VerifyOptions { previous: previous.cloned(), ..VerifyOptions::default() };
    runs::verify_with(&sources, &[path("m")], &options)
}

/// What kind of leaf a pointer names: as in the documentation, without indices.
fn kind(pointer: &str, leaf: &Value) -> String {
    let steps = pointer.split('/').skip(1).filter(|step| step.parse::<u64>().is_err());
    match steps.collect::<Vec<&str>>().as_slice() {
        ["ranks", "events"] => leaf.as_str().expect("an event without fields").to_owned(),
        ["ranks", "events", rest @ ..] | ["ranks", rest @ ..] | ["contract", rest @ ..] => rest.join("."),
        all => all.join("."),
    }
}

fn row(kind: &str) -> &'static Row {
    TABLE.iter().find(|row| row.kind == kind).unwrap_or_else(|| panic!("no row for {kind}"))
}

/// The leaf's other value.
fn other(leaf: &Value, change: &Change) -> Value {
    match change {
        Change::To(texts) => {
            let mut values = texts.iter().map(|text| serde_json::from_str(text).expect("JSON"));
            values.find(|value| value != leaf).expect("another value")
        }
        Change::Other => match leaf {
            Value::Number(count) if count.is_u64() => json!(count.as_u64().expect("a count") + 1),
            Value::Number(real) => json!(real.as_f64().expect("a real") * 1.5 + 0.25),
            Value::Bool(flag) => json!(!flag),
            Value::String(text) => json!(format!("{text}x")),
            other => panic!("{other} needs a change of its own"),
        },
    }
}

/// Whether an event was superseded by a later restore of its rank: bound, and not judged.
fn is_superseded(manifest: &Value, pointer: &str) -> bool {
    let steps: Vec<&str> = pointer.split('/').collect();
    let ["", "ranks", rank, "events", event, ..] = steps.as_slice() else { return false };
    let events = manifest.pointer(&format!("/ranks/{rank}/events")).and_then(Value::as_array).expect("events");
    let Some(restore) = events.iter().position(|event| event.get("restore").is_some()) else { return false };
    let window = &events[restore]["restore"]["window"];
    let first = events.iter().position(|event| event["backward"]["window"] == *window).expect("a superseded backward");
    let at: usize = event.parse().expect("an index");
    (first - 1..restore).contains(&at)
}

/// What the kinds of leaves did.
#[derive(Default)]
struct Seen {
    leaves: u64,
    fired: BTreeSet<Code>,
    /// Leaves after whose change nothing fired at all.
    silent: Vec<String>,
}

fn change_every_leaf(run: &Run, seen: &mut BTreeMap<String, Seen>, faults: &mut Vec<String>) {
    let base = verify(&run.manifest, run.previous.as_ref());
    assert_eq!(runs::codes(&base), [], "the run itself is sound");
    let hash = runs::input_hash(&base);
    for pointer in leaves(&run.manifest).into_iter().filter(|pointer| pointer.contains(run.only)) {
        let leaf = run.manifest.pointer(&pointer).expect("a leaf");
        let kind = kind(&pointer, leaf);
        let changed = with(&run.manifest, &pointer, other(leaf, &row(&kind).change));
        let changed = verify(&changed, run.previous.as_ref());
        let is_rejected = runs::exit(&changed) == 3;
        if !is_rejected && runs::input_hash(&changed) == hash {
            faults.push(format!("{pointer} is not bound"));
        }
        if is_superseded(&run.manifest, &pointer) {
            continue;
        }
        let codes = runs::codes(&changed);
        let seen = seen.entry(kind).or_default();
        seen.leaves += 1;
        if codes.is_empty() && run.is_full {
            seen.silent.push(pointer);
        }
        seen.fired.extend(codes);
    }
}

/// What is wrong about a kind of leaf.
fn judge(row: &Row, seen: &Seen) -> Vec<String> {
    let Seen { leaves, fired, silent } = seen;
    let mut faults = vec![];
    for code in row.witnesses.iter().filter(|code| !fired.contains(code)) {
        faults.push(format!("{}: {code} did not fire for any of {leaves}, but {fired:?}", row.kind));
    }
    if row.witnesses.is_empty() && !fired.is_empty() {
        faults.push(format!("{}: unwitnessed, and yet {fired:?} fired", row.kind));
    }
    if !row.witnesses.is_empty() && silent.len() != row.silent {
        faults.push(format!("{}: {} silent, not {}: {silent:?}", row.kind, silent.len(), row.silent));
    }
    faults
}

#[test]
fn every_leaf_is_bound_and_every_witnessed_kind_fires_its_rule() {
    let (mut seen, mut faults) = (BTreeMap::new(), vec![]);
    for run in all() {
        change_every_leaf(&run, &mut seen, &mut faults);
    }
    for row in TABLE {
        match seen.get(row.kind) {
            None => faults.push(format!("{}: no run has such a leaf", row.kind)),
            Some(seen) => faults.extend(judge(row, seen)),
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn a_run_that_logged_nothing_says_so() {
    let manifest = document("worked/fully-witnessed.json");
    let mut bare = with(&manifest, "/contract/require", json!([]));
    for rank in bare["ranks"].as_array_mut().expect("ranks") {
        let events = rank["events"].as_array_mut().expect("events");
        events.retain(|event| event.get("logged").is_none() && event.get("parameters").is_none());
        for event in events {
            for field in ["backward_loss", "auxiliary_loss", "accumulated"] {
                event.get_mut("backward").and_then(Value::as_object_mut).map(|backward| backward.remove(field));
            }
        }
    }
    let verified = runs::verify_value(&bare);
    assert_eq!(runs::exit(&verified), 0);
    let tree = runs::tree(&verified);
    for kind in ["weights", "loss", "denominator", "gradient", "accumulated", "parameters"] {
        let found = &tree["evidence"][kind];
        // Gradient numerators are still there, so that kind is there in part.
        assert_eq!(*found, if kind == "gradient" { json!("some") } else { json!("none") }, "{kind}");
        let limitation = format!("evidence of kind {kind} was recorded");
        let limitations = tree["limitations"].as_array().expect("limitations");
        assert!(
            limitations.iter().any(|told| told.as_str().is_some_and(|told| told.starts_with(&limitation))),
            "{kind}"
        );
    }
    // And what is required of it is missing.
    bare["contract"]["require"] = json!(["weights", "loss"]);
    assert_eq!(runs::errors(&runs::verify_value(&bare)), [Code::GA208]);
}

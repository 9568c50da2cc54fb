//! GA602.
use crate::canonical::Digest;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Place;
use crate::manifest::resume::Resume;
use crate::rules::Check;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

rule! {
    /// ## What it does
    /// With `--previous RECEIPT`, compares the manifest's `resume` with what that receipt says was carried: window,
    /// microbatches with their targets and numerators, random states, applied updates, the scaler's state and the
    /// learning rate; and `previous_receipt` with that receipt's hash. A manifest that resumes where nothing was
    /// carried, or does not resume where something was, is found too.
    ///
    /// ## Why it is wrong
    /// The carried microbatches count in the window's N. If they are not those that were run, the first update after the
    /// resumption has a denominator that belongs to nothing, and microbatches were lost or repeated between the two runs.
    ///
    /// ## What to do
    /// Copy `carried` from the previous receipt into `resume`, add that receipt's `receipt_sha256` as
    /// `previous_receipt`, and restore gradients, counters and random state from the same moment.
    GA602, Check::Receipt
}

/// Compares a manifest's `resume` with `carried` and `receipt_sha256` of the receipt of the run before; gives the first
/// difference. `carried` is whatever stands in that receipt: an object, or null.
pub fn resume_differs(resume: Option<&Resume>, carried: &impl Serialize, receipt_sha256: &Digest) -> Option<Finding> {
    let carried = serde_json::to_value(carried).unwrap_or_default();
    let differs = |field: &str, message: String| Some(Finding::new(Code::GA602, Place::document(field), message));
    let Some(resume) = resume else {
        let message = "the manifest resumes nothing, where the previous receipt carried a window";
        return if carried.is_null() { None } else { differs("/resume", message.to_owned()) };
    };
    if carried.is_null() {
        let message = "the manifest resumes a window, where the previous receipt carried none";
        return differs("/resume", message.to_owned());
    }
    if resume.previous_receipt != *receipt_sha256 {
        let named = resume.previous_receipt;
        let message = format!("the manifest resumes receipt {named}, where the previous one is {receipt_sha256}");
        return differs("/resume/previous_receipt", message);
    }
    let resumed = serde_json::to_value(resume).unwrap_or_default();
    let (pointer, here, there) = difference(&without_hash(resumed), &without_hash(carried), String::new())?;
    let message = format!("the manifest resumes with {here}, where the previous receipt carried {there}");
    differs(&format!("/resume{pointer}"), message)
}

/// A receipt cannot hold its own hash, so `carried` does not name it.
fn without_hash(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.remove("previous_receipt");
    }
    value
}

/// The first place at which two values differ, with what each has there. Numbers are compared by value.
fn difference(here: &Value, there: &Value, pointer: String) -> Option<(String, String, String)> {
    match (here, there) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            keys.into_iter().find_map(|key| {
                let (a, b) = (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
                difference(a, b, format!("{pointer}/{key}"))
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .find_map(|(position, (a, b))| difference(a, b, format!("{pointer}/{position}"))),
        (Value::Array(a), Value::Array(b)) => Some((pointer, entries(a.len()), entries(b.len()))),
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => None,
        (a, b) if a == b => None,
        (a, b) => Some((pointer, shown(a), shown(b))),
    }
}

fn entries(number: usize) -> String {
    if number == 1 { "1 entry".to_owned() } else { format!("{number} entries") }
}

/// A value, without what a document may hold below it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Array(array) => entries(array.len()),
        Value::String(text) => text.clone(),
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn carried() -> Value {
        json!({"window": 4, "applied_updates": 4, "loss_scale": 512, "learning_rate": 0.1, "ranks": [{"rank": 0,
            "microbatches": [{"microbatch": "a", "valid_targets": 2, "loss_sum": 1.5},
                {"microbatch": "b", "valid_targets": 3, "loss_sum": 2.0}], "random_state": "x"}]})
    }

    fn hash() -> Digest {
        Digest::of(b"the previous receipt")
    }

    fn resume(from: &Value) -> Resume {
        let mut resume = from.clone();
        resume["previous_receipt"] = json!(hash());
        serde_json::from_value(resume).expect("a resume")
    }

    fn found(resume: Option<&Resume>, carried: &Value) -> Option<(String, String)> {
        let finding = resume_differs(resume, carried, &hash())?;
        Some((finding.place.field.unwrap_or_default(), finding.message))
    }

    #[test]
    fn what_was_carried_is_resumed() {
        assert_eq!(found(Some(&resume(&carried())), &carried()), None);
        assert_eq!(found(None, &Value::Null), None);
        assert_eq!(found(Some(&resume(&carried())), &Value::Null).expect("one").0, "/resume");
        assert_eq!(found(None, &carried()).expect("one").0, "/resume");
        let finding = resume_differs(Some(&resume(&carried())), &carried(), &Digest::of(b"another")).expect("one");
        assert_eq!(finding.place.field.as_deref(), Some("/resume/previous_receipt"));
    }

    #[test]
    fn every_field_is_compared() {
        for (pointer, value, message) in [
            ("/applied_updates", json!(5), "the manifest resumes with 4, where the previous receipt carried 5"),
            ("/learning_rate", json!(0.2), "the manifest resumes with 0.1, where the previous receipt carried 0.2"),
            ("/loss_scale", Value::Null, "the manifest resumes with 512.0, where the previous receipt carried nothing"),
            ("/ranks/0/microbatches/1/microbatch", json!("c"), "the manifest resumes with b, where the previous receipt carried c"),
            ("/ranks/0/microbatches/1/valid_targets", json!(4), "the manifest resumes with 3, where the previous receipt carried 4"),
            ("/ranks/0/random_state", json!("y"), "the manifest resumes with x, where the previous receipt carried y"),
        ] {
            let mut other = carried();
            *other.pointer_mut(pointer).expect("a field") = value;
            let found = found(Some(&resume(&carried())), &other).expect("a difference");
            assert_eq!(found, (format!("/resume{pointer}"), message.to_owned()));
        }
        let mut more = carried();
        more["growth_tracker"] = json!(2);
        assert_eq!(found(Some(&resume(&carried())), &more).expect("one").0, "/resume/growth_tracker");
        more = carried();
        more["ranks"][0]["microbatches"].as_array_mut().expect("an array").pop();
        assert_eq!(found(Some(&resume(&carried())), &more).expect("one").1, "the manifest resumes with 2 entries, where the previous receipt carried 1 entry");
    }
}

//! A rejected manifest's receipt without the run's own names, so that it can be kept and shown.
//!
//! It rests on messages quoting everything that comes from outside in backticks, which `tests/` holds them to.
use super::document::Receipt;
use super::seal::Sealed;
use crate::canonical::CanonicalError;
use crate::manifest::{SchemaKind, schema};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The receipt with every name of the run's own replaced by `m0001`, `m0002`, … in the order of appearance: whatever
/// its messages quote, and every key in its places, that is no word of the format.
///
/// # Errors
///
/// If the receipt can't be sealed again, which is a bug of ours.
pub fn anonymous(sealed: &Sealed) -> Result<Sealed, CanonicalError> {
    let mut names = Names { words: words(), given: BTreeMap::new() };
    let mut receipt: Receipt = sealed.receipt().clone();
    for finding in &mut receipt.findings {
        finding.message = names.in_message(&finding.message);
        finding.place.field = finding.place.field.as_deref().map(|field| names.in_pointer(field));
    }
    Sealed::new(receipt)
}

struct Names {
    words: BTreeSet<String>,
    given: BTreeMap<String, String>,
}

impl Names {
    fn of(&mut self, text: &str) -> String {
        if self.words.contains(text) {
            return text.to_owned();
        }
        let next = format!("m{:04}", self.given.len() + 1);
        self.given.entry(text.to_owned()).or_insert(next).clone()
    }

    /// Every second piece between backticks is quoted.
    fn in_message(&mut self, message: &str) -> String {
        let piece = |(index, piece): (usize, &str)| if index % 2 == 1 { self.of(piece) } else { piece.to_owned() };
        message.split('`').enumerate().map(piece).collect::<Vec<_>>().join("`")
    }

    fn in_pointer(&mut self, pointer: &str) -> String {
        let step = |step: &str| {
            let is_index = step.bytes().all(|byte| byte.is_ascii_digit());
            if is_index { step.to_owned() } else { self.of(step) }
        };
        pointer.split('/').map(step).collect::<Vec<_>>().join("/")
    }
}

/// The words of the format: its fields and the strings that they can hold.
fn words() -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for kind in [SchemaKind::Manifest, SchemaKind::Microbatches] {
        collect(&schema(kind), &mut words);
    }
    words
}

fn collect(value: &Value, words: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                if key == "properties" {
                    words.extend(field.as_object().into_iter().flat_map(|fields| fields.keys().cloned()));
                }
                if key == "const" || key == "enum" {
                    strings(field, words);
                }
                collect(field, words);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, words)),
        _ => {}
    }
}

fn strings(value: &Value, words: &mut BTreeSet<String>) {
    match value {
        Value::String(word) => drop(words.insert(word.clone())),
        Value::Array(items) => items.iter().for_each(|item| strings(item, words)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_and_words_stay() {
        let mut names = Names { words: words(), given: BTreeMap::new() };
        assert_eq!(
            names.in_message("microbatch `secret` stands twice, `other` once; `secret` has no `valid_targets`"),
            "microbatch `m0001` stands twice, `m0002` once; `m0001` has no `valid_targets`"
        );
        assert_eq!(names.in_pointer("/ranks/0/events/17/backward/secret"), "/ranks/0/events/17/backward/m0001");
    }
}

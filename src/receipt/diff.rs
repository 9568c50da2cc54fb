//! What is different between two receipts, part by part.
//!
//! Invariant: two receipts have no differences if and only if their bytes are equal: every field is compared, by what names
//! its entries where it is a list, leaf by leaf elsewhere. What is kept of a part is bounded, and the rest is counted.
use super::seal::Sealed;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// Differences of a part that are kept.
const KEPT: usize = 64;

/// The parts in which a person asks first, in that order: what was asked for, what was declared, what was recorded, what
/// came of it. Other fields come after these, in order of name.
const ORDER: [&str; 9] =
    ["options", "formula", "contract", "windows", "microbatches", "totals", "findings", "diagnosis", "replay"];

/// What follows from everything else, and so says nothing by itself.
const HASH: &str = "receipt_sha256";

/// The differences between two receipts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diff {
    /// The parts that differ.
    pub parts: Vec<Part>,
}

/// A field of the receipt that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The field.
    pub name: String,
    /// Its first differences.
    pub changes: Vec<Change>,
    /// How many more there are.
    pub more: u64,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Where in the part: `window 3 /loss`, `GA203 error /count`, `/clip/max_norm`; empty for the part itself.
    pub place: String,
    /// What stands there in the first; absent where it lacks the place.
    pub left: Option<Value>,
    /// And in the second.
    pub right: Option<Value>,
}

impl Diff {
    /// Compares two receipts.
    pub fn of(left: &Sealed, right: &Sealed) -> Self {
        if left.bytes() == right.bytes() {
            return Diff::default();
        }
        let (left, right) = (tree(left), tree(right));
        let names: BTreeSet<&String> =
            left.as_object().into_iter().chain(right.as_object()).flat_map(|map| map.keys()).collect();
        let rank = |name: &&String| ORDER.iter().position(|each| each == name).unwrap_or(ORDER.len());
        let mut names: Vec<&String> = names.into_iter().filter(|name| *name != HASH).collect();
        names.sort_by_key(rank);
        let part = |name: &String| Part::of(name, left.get(name), right.get(name));
        Diff { parts: names.into_iter().filter_map(part).collect() }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The first difference, with its part.
    pub fn first(&self) -> Option<(&str, &Change)> {
        let part = self.parts.first()?;
        Some((&part.name, part.changes.first()?))
    }
}

fn tree(sealed: &Sealed) -> Value {
    serde_json::to_value(sealed.receipt()).expect("bug: a sealed receipt is not JSON")
}

impl Part {
    fn of(name: &str, left: Option<&Value>, right: Option<&Value>) -> Option<Self> {
        let mut part = Part { name: name.to_owned(), changes: Vec::new(), more: 0 };
        match (key(name), left.and_then(Value::as_array), right.and_then(Value::as_array)) {
            (Some(key), Some(left), Some(right)) => part.entries(left, right, key),
            _ => part.leaves(left, right, String::new()),
        }
        (!part.changes.is_empty()).then_some(part)
    }

    /// The entries of two lists, matched by what names them; of several under one name by their order.
    fn entries(&mut self, left: &[Value], right: &[Value], key: Key) {
        let (left, right) = (named(left, key), named(right, key));
        let names: BTreeSet<&Name> = left.keys().chain(right.keys()).collect();
        for name in names {
            self.leaves(left.get(name).copied(), right.get(name).copied(), (key.shown)(name));
        }
    }

    fn leaves(&mut self, left: Option<&Value>, right: Option<&Value>, place: String) {
        match (left, right) {
            (left, right) if left == right => {}
            (Some(Value::Object(left)), Some(Value::Object(right))) => {
                let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
                for key in keys {
                    self.leaves(left.get(key), right.get(key), below(&place, key));
                }
            }
            (Some(Value::Array(left)), Some(Value::Array(right))) if has_objects(left) && has_objects(right) => {
                for index in 0..left.len().max(right.len()) {
                    self.leaves(left.get(index), right.get(index), below(&place, &index.to_string()));
                }
            }
            (left, right) if self.changes.len() < KEPT => {
                self.changes.push(Change { place, left: left.cloned(), right: right.cloned() });
            }
            _ => self.more += 1,
        }
    }
}

/// A list of numbers or names is compared as a whole, one of objects element by element.
fn has_objects(items: &[Value]) -> bool {
    items.iter().any(Value::is_object)
}

/// A step further down, as in a JSON Pointer.
fn below(place: &str, key: &str) -> String {
    let gap = if place.is_empty() || place.contains('/') { "" } else { " " };
    format!("{place}{gap}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// What an entry of a list is called: numbers, then words, then which of several of that name.
type Name = (Vec<u64>, Vec<String>, usize);

/// What names the entries of a list.
#[derive(Clone, Copy)]
struct Key {
    numbers: &'static [&'static str],
    words: &'static [&'static str],
    shown: fn(&Name) -> String,
}

fn key(part: &str) -> Option<Key> {
    Some(match part {
        "windows" => Key { numbers: &["window"], words: &[], shown: |(numbers, ..)| format!("window {}", numbers[0]) },
        "microbatches" => Key {
            numbers: &["window", "rank", "backward_index"],
            words: &[],
            shown: |(numbers, ..)| format!("window {}, rank {}, backward {}", numbers[0], numbers[1], numbers[2]),
        },
        "findings" => Key {
            numbers: &[],
            words: &["code", "severity"],
            shown: |(_, words, _)| format!("{} {}", words[0], words[1]),
        },
        _ => return None,
    })
}

fn named(entries: &[Value], key: Key) -> BTreeMap<Name, &Value> {
    let mut named = BTreeMap::new();
    let mut times: BTreeMap<(Vec<u64>, Vec<String>), usize> = BTreeMap::new();
    for entry in entries {
        let numbers: Vec<u64> = key.numbers.iter().map(|field| entry[field].as_u64().unwrap_or_default()).collect();
        let words: Vec<String> =
            key.words.iter().map(|field| entry[field].as_str().unwrap_or_default().to_owned()).collect();
        let before = times.entry((numbers.clone(), words.clone())).or_insert(0);
        named.insert((numbers, words, *before), entry);
        *before += 1;
    }
    named
}

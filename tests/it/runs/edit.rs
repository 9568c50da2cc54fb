//! Changing manifests: leaves by JSON Pointer, and the shapes in which one run can be written.
use serde_json::{Map, Value, json};

/// The manifest with another value at a pointer, which has to be there.
pub(crate) fn with(manifest: &Value, pointer: &str, value: Value) -> Value {
    let mut changed = manifest.clone();
    *changed.pointer_mut(pointer).unwrap_or_else(|| panic!("nothing at {pointer}")) = value;
    changed
}

/// Pointers to all leaves: whatever is no array and no object, and what is one but empty.
pub(crate) fn leaves(value: &Value) -> Vec<String> {
    fn descend(value: &Value, pointer: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                fields.iter().for_each(|(key, value)| descend(value, &format!("{pointer}/{}", escaped(key)), found));
            }
            Value::Array(elements) if !elements.is_empty() => {
                elements.iter().enumerate().for_each(|(at, value)| descend(value, &format!("{pointer}/{at}"), found));
            }
            _ => found.push(pointer.to_owned()),
        }
    }
    let mut found = vec![];
    descend(value, "", &mut found);
    found
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The events of a rank's entry.
pub(crate) fn events(entry: &Value) -> &Vec<Value> {
    entry["events"].as_array().expect("events")
}

/// A rank's entry as a microbatch manifest; every line ends with `end`.
pub(crate) fn lines(entry: &Value, contract: Option<&Value>, end: &str) -> String {
    let mut header = json!({"schema": "accumulation/microbatch-manifest/1", "rank": entry["rank"]});
    if let Some(contract) = contract {
        header["contract"] = contract.clone();
    }
    let events = events(entry).iter().map(Value::to_string);
    std::iter::once(header.to_string()).chain(events).map(|line| line + end).collect()
}

/// The ranks of a rank manifest.
pub(crate) fn ranks(manifest: &Value) -> &Vec<Value> {
    manifest["ranks"].as_array().expect("ranks")
}

/// JSON text with the keys of every object in an order that a seed chooses.
pub(crate) fn shuffled(value: &Value, seed: u64) -> String {
    match value {
        Value::Object(fields) => object(fields, seed),
        Value::Array(elements) => {
            let parts: Vec<String> = elements.iter().map(|element| shuffled(element, seed)).collect();
            format!("[{}]", parts.join(" ,"))
        }
        scalar => scalar.to_string(),
    }
}

fn object(fields: &Map<String, Value>, seed: u64) -> String {
    let mut keys: Vec<&String> = fields.keys().collect();
    // A hash of key and seed orders them; any order will do, as long as seeds differ.
    keys.sort_by_key(|key| {
        key.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    });
    let parts: Vec<String> = keys
        .into_iter()
        .map(|key| format!("{}: {}", Value::from(key.as_str()), shuffled(&fields[key], seed)))
        .collect();
    format!("{{{}}}", parts.join(", "))
}

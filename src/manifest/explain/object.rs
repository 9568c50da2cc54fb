//! Objects: keys that are unknown, repeated or missing.
use crate::finding::Code;
use crate::manifest::explain::quote;
use crate::manifest::explain::suggest::suggestion;
use crate::manifest::explain::walk::Walk;
use crate::manifest::json::Node;
use serde_json::Map;
use serde_json::Value;
use std::collections::BTreeSet;

/// Holds an object's members against the schema's properties.
pub(super) fn members(walk: &mut Walk, schema: &Value, node: Node<'_>) {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    duplicates(walk, node);
    let mut there = BTreeSet::new();
    for (key, value) in node.members() {
        let name = key.string().unwrap_or_default();
        walk.pointer.push_key(&name);
        match (properties.get(&name), &schema["additionalProperties"]) {
            (Some(property), _) => walk.value(property, value),
            (None, open @ Value::Object(_)) => {
                walk.value(&schema["propertyNames"], key);
                walk.value(open, value);
            }
            (None, _) => {
                let near = suggestion(&name, properties.keys().map(String::as_str));
                walk.fault(Code::GA103, key.span(), format!("unknown field {}{near}", quote(&name)));
                walk.unknown(value);
            }
        }
        walk.pointer.pop();
        there.insert(name);
    }
    if node.is_torn() {
        return;
    }
    for required in names(&schema["required"]).filter(|name| !there.contains(*name)) {
        walk.fault(Code::GA103, node.span(), format!("missing field `{required}`"));
    }
    if let Some(groups) = schema["oneOf"].as_array() {
        alternatives(walk, groups, &there, node);
    }
}

/// Fields of which exactly one has to be there.
fn alternatives(walk: &mut Walk, groups: &[Value], there: &BTreeSet<String>, node: Node<'_>) {
    let fields: Vec<&str> = groups.iter().flat_map(|group| names(&group["required"])).collect();
    let present = fields.iter().filter(|field| there.contains(**field)).count();
    let list = fields.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(" and ");
    match present {
        0 => walk.fault(Code::GA103, node.span(), format!("one of {list} is missing")),
        1 => {}
        _ => walk.fault(Code::GA103, node.span(), format!("{list} exclude each other")),
    }
}

/// Keys that are there twice.
pub(super) fn duplicates(walk: &mut Walk, node: Node<'_>) {
    let mut seen = BTreeSet::new();
    for (key, _) in node.members() {
        let name = key.string().unwrap_or_default();
        if seen.contains(&name) {
            walk.pointer.push_key(&name);
            walk.fault(Code::GA104, key.span(), format!("the key {} is there twice", quote(&name)));
            walk.pointer.pop();
        }
        seen.insert(name);
    }
}

fn names(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

//! Random documents: made from the JSON Schemas, printed in random ways, spoilt at random.
use proptest::prelude::*;
use proptest::test_runner::TestRng;
use receipt::manifest::SchemaKind;
use receipt::manifest::schema;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use std::sync::LazyLock;

/// The definitions of both documents.
pub(crate) static DEFINITIONS: LazyLock<Value> = LazyLock::new(|| {
    let mut all = schema(SchemaKind::Microbatches)["$defs"].clone();
    let more = schema(SchemaKind::Manifest);
    all.as_object_mut().expect("an object").extend(more["$defs"].as_object().expect("an object").clone());
    all
});

/// Random values of one definition.
pub(crate) fn instances(definition: &'static str) -> impl Strategy<Value = Value> {
    Just(()).prop_perturb(move |(), mut rng| instance(&DEFINITIONS[definition], &mut rng))
}

/// A number below `bound`.
pub(crate) fn below(rng: &mut TestRng, bound: usize) -> usize {
    (rng.next_u64() % bound as u64) as usize
}

pub(crate) fn pick<'a, T>(rng: &mut TestRng, items: &'a [T]) -> &'a T {
    &items[below(rng, items.len())]
}

/// Any value that the schema allows.
pub(crate) fn instance(schema: &Value, rng: &mut TestRng) -> Value {
    if let Some(name) = schema["$ref"].as_str() {
        return instance(&DEFINITIONS[name.rsplit('/').next().expect("a name")], rng);
    }
    let branches = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    if let Some(branches) = branches.filter(|_| schema["properties"].is_null()) {
        return instance(pick(rng, branches), rng);
    }
    if !schema["const"].is_null() {
        return schema["const"].clone();
    }
    if let Some(words) = schema["enum"].as_array() {
        return pick(rng, words).clone();
    }
    match (schema["x-kind"].as_str(), schema["type"].as_str()) {
        (Some("count"), _) => json!(*pick(rng, &[0, 1, 2, 3, 7, 266, 4096, 1 << 32, (1_u64 << 53) - 1, 1 << 53])),
        (Some("integer"), _) => json!(*pick(rng, &[-100, 0, -1, 255, -(1_i64 << 53), 1 << 53])),
        (Some("finite"), _) => real(rng),
        (Some("identifier"), _) => format!("w{}-r0/m@{}", below(rng, 100), below(rng, 1000)).into(),
        (Some("digest"), _) => (0..64).map(|_| *pick(rng, &['0', '7', 'a', 'f'])).collect::<String>().into(),
        (Some("opaque"), _) | (None, Some("string")) => text(rng).into(),
        (_, Some("boolean")) => (below(rng, 2) == 0).into(),
        (_, Some("array")) => {
            let mut items: Vec<Value> = (0..below(rng, 4)).map(|_| instance(&schema["items"], rng)).collect();
            if schema["uniqueItems"] == true {
                let mut seen = Vec::new();
                items.retain(|item| {
                    !seen.contains(item) && {
                        seen.push(item.clone());
                        true
                    }
                });
            }
            items.into()
        }
        (_, Some("object")) => object(schema, rng),
        other => panic!("a schema that is not understood: {other:?} {schema}"),
    }
}

fn real(rng: &mut TestRng) -> Value {
    match below(rng, 6) {
        0 => json!(below(rng, 100)),
        1 => json!(*pick(rng, &[0.1, -0.5, 1e-7, 5e-324, 1e21, -1e23, 1.797_693_134_862_315_7e308, 123_456_789.125])),
        2 => json!(*pick(rng, &[u64::MAX, (1 << 53) + 1])),
        3 => json!(-(below(rng, 1000) as i64)),
        _ => loop {
            let value = f64::from_bits(rng.next_u64());
            if value.is_finite() {
                return json!(value);
            }
        },
    }
}

fn text(rng: &mut TestRng) -> String {
    (0..below(rng, 9))
        .map(|_| *pick(rng, &['a', '"', '\\', '\u{1b}', '/', 'é', '😀', '\u{7f}', '\n', '\u{2028}']))
        .collect()
}

fn object(schema: &Value, rng: &mut TestRng) -> Value {
    let mut made = Map::new();
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if required.contains(&&**name) || below(rng, 2) == 0 {
            made.insert(name.clone(), instance(property, rng));
        }
    }
    if let Some(groups) = schema["oneOf"].as_array() {
        let fields: Vec<&str> = groups.iter().filter_map(|group| group["required"][0].as_str()).collect();
        let kept = *pick(rng, &fields);
        made.retain(|name, _| name == kept || !fields.contains(&&**name));
        if !made.contains_key(kept) {
            made.insert(kept.to_owned(), instance(&schema["properties"][kept], rng));
        }
    }
    if schema["additionalProperties"].is_object() {
        for _ in 0..below(rng, 3) {
            made.insert(text(rng), instance(&schema["additionalProperties"], rng));
        }
    }
    made.into()
}

/// The same value with its keys in any order and white space anywhere; with `one_line`, without newlines.
pub(crate) fn print(value: &Value, one_line: bool, rng: &mut TestRng) -> String {
    let spaces: &[&str] = if one_line { &["", "", " ", "\t", "\r"] } else { &["", "", " ", "\n", "\r\n "] };
    let mut out = String::new();
    write(value, spaces, rng, &mut out);
    out
}

fn write(value: &Value, spaces: &[&str], rng: &mut TestRng, out: &mut String) {
    match value {
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            for index in (1..members.len()).rev() {
                members.swap(index, below(rng, index + 1));
            }
            out.push('{');
            for (index, (key, value)) in members.into_iter().enumerate() {
                *out += if index > 0 { "," } else { "" };
                out.push_str(pick::<&str>(rng, spaces));
                *out += &Value::from(key.as_str()).to_string();
                out.push_str(pick::<&str>(rng, spaces));
                out.push(':');
                write(value, spaces, rng, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                *out += if index > 0 { "," } else { "" };
                write(item, spaces, rng, out);
            }
            out.push(']');
        }
        other => {
            out.push_str(pick::<&str>(rng, spaces));
            *out += &other.to_string();
            out.push_str(pick::<&str>(rng, spaces));
        }
    }
}

/// The value with one thing in it changed, in shape or in kind.
pub(crate) fn spoilt(value: &Value, rng: &mut TestRng) -> Value {
    let mut value = value.clone();
    let mut node = &mut value;
    loop {
        let inside = match node {
            Value::Object(object) => object.len(),
            Value::Array(items) => items.len(),
            _ => 0,
        };
        if inside == 0 || below(rng, 3) == 0 {
            break;
        }
        let index = below(rng, inside);
        node = match node {
            Value::Object(object) => object.values_mut().nth(index).expect("a member"),
            Value::Array(items) => &mut items[index],
            _ => unreachable!(),
        };
    }
    change(node, rng);
    value
}

fn change(node: &mut Value, rng: &mut TestRng) {
    match (below(rng, 8), &mut *node) {
        (0 | 1, Value::Object(object)) if !object.is_empty() => {
            let name = object.keys().nth(below(rng, object.len())).expect("a key").clone();
            object.remove(&name);
        }
        (2 | 3, Value::Object(object)) => {
            object.insert((*pick(rng, &["x", "windw", "nonfinite", "loss_sum", "norm"])).to_owned(), json!(true));
        }
        (4, Value::Object(object)) => {
            *node = object.values().cloned().collect();
        }
        (4, Value::String(word)) => *node = json!({ word.clone(): null }),
        (5, Value::Array(items)) if !items.is_empty() => items.push(items[0].clone()),
        (_, node) => {
            let other = [
                json!(null),
                json!([]),
                json!({}),
                json!("x"),
                json!(true),
                json!(1.5),
                json!(-1),
                json!(9e15),
                json!("NaN"),
                json!(""),
            ];
            *node = pick(rng, &other).clone();
        }
    }
}

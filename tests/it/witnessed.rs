//! Every leaf of a manifest is bound, and every witnessed kind of leaf fires its rule when it is changed
//! (`docs/method.md` §18).
use crate::runs::edit::{leaves, with};
use crate::runs::{self, document};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn kind(pointer: &str) -> String {
    pointer.split('/').map(|s| if s.parse::<u64>().is_ok() { "*" } else { s }).collect::<Vec<_>>().join("/")
}

#[test]
fn explore() {
    for name in ["worked/fully-witnessed.json"] {
    let manifest = document(name);
    let base = runs::verify_value(&manifest);
    let mut seen: BTreeMap<String, (usize, usize, BTreeMap<String, usize>, usize)> = BTreeMap::new();
    for pointer in leaves(&manifest) {
        let old = manifest.pointer(&pointer).unwrap();
        let new = match old {
            Value::Number(n) if n.is_u64() && !n.to_string().contains('.') => json!(n.as_u64().unwrap() + 1),
            Value::Number(n) if n.is_i64() => json!(n.as_i64().unwrap() - 1),
            Value::Number(n) => json!(n.as_f64().unwrap() * 1.5 + 0.25),
            Value::Bool(b) => json!(!b),
            Value::String(s) => json!(format!("{s}x")),
            other => other.clone(),
        };
        let changed = runs::verify_value(&with(&manifest, &pointer, new));
        let entry = seen.entry(kind(&pointer)).or_default();
        entry.0 += 1;
        let errors = runs::errors(&changed);
        if !errors.is_empty() { entry.1 += 1; }
        if runs::exit(&changed) == 3 || runs::input_hash(&changed) != runs::input_hash(&base) { entry.3 += 1; }
        for code in errors { *entry.2.entry(code.to_string()).or_default() += 1; }
    }
    for (kind, (total, fired, codes, bound)) in seen {
        println!("{kind} {fired}/{total} bound {bound} {codes:?}");
    }
    }
}

//! Whether contracts that stand in several headers are one.
use crate::manifest::contract::Contract;
use crate::manifest::explain::quote;
use crate::manifest::pointer::Pointer;
use serde_json::Value;

/// Where two contracts first differ, defaults filled in, and how.
pub(super) fn difference(first: &Contract, other: &Contract) -> Option<(String, String)> {
    let tree = |contract: &Contract| serde_json::to_value(contract).expect("bug: a contract could not be written");
    let mut pointer = Pointer::default();
    pointer.push_key("contract");
    let (left, right) = descend(&tree(first), &tree(other), &mut pointer)?;
    Some((pointer.to_string(), format!("{right}, where the first rank's contract has {left}")))
}

fn descend(left: &Value, right: &Value, pointer: &mut Pointer) -> Option<(String, String)> {
    if left == right {
        return None;
    }
    let (Value::Object(a), Value::Object(b)) = (left, right) else {
        return Some((shown(Some(left)), shown(Some(right))));
    };
    let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let key = keys.into_iter().find(|key| a.get(*key) != b.get(*key))?;
    pointer.push_key(key);
    match (a.get(key), b.get(key)) {
        (Some(left), Some(right)) => descend(left, right, pointer),
        (left, right) => {
            // Nothing stands there to be shown.
            if right.is_none() {
                pointer.pop();
                return Some((format!("`{key}` {}", shown(left)), format!("no `{key}`")));
            }
            Some((shown(left), shown(right)))
        }
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or("none".to_owned(), |value| quote(&value.to_string()))
}

//! Reading a receipt back, and comparing one with what its manifest gives.
use super::document::{RECEIPT_SCHEMA, Receipt};
use super::seal::Sealed;
use crate::canonical;
use crate::finding::{Code, Finding, Place};
use serde::Deserialize;
use serde_json::Value;

/// Fields that must be equal whatever version of the tool derived them. `windows` and `microbatches` are null at less
/// detail, and the detail is part of the options under which a receipt is derived again.
const DERIVED: [&str; 7] = ["input", "contract", "totals", "evidence", "windows", "microbatches", "carried"];

/// How many characters of a value are shown.
const SHOWN: usize = 120;

/// What a receipt of any version says of itself.
#[derive(Default, Deserialize)]
struct Versioned {
    schema: Option<String>,
}

/// Takes a receipt's bytes; one newline after them is allowed.
///
/// # Errors
///
/// GA101 or GA103 where they are no receipt, GA803 where they are one of an unknown schema, GA801 where they are not
/// the canonical bytes of a receipt with this hash.
pub fn read(bytes: &[u8]) -> Result<Sealed, Box<Finding>> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let versioned = match serde_json::from_slice::<Versioned>(bytes) {
        Ok(versioned) => versioned,
        Err(error) if error.is_data() => Versioned::default(),
        Err(error) => return Err(refuse(Code::GA101, "", format!("the receipt is not JSON: {error}"))),
    };
    match versioned.schema.as_deref() {
        Some(RECEIPT_SCHEMA) => {}
        Some(other) => {
            let message = format!("a receipt of schema {other:?}, where this version knows {RECEIPT_SCHEMA:?}");
            return Err(refuse(Code::GA803, "/schema", message));
        }
        None => return Err(refuse(Code::GA803, "/schema", "the document names no schema".to_owned())),
    }
    let receipt: Receipt = serde_json::from_slice(bytes)
        .map_err(|error| refuse(Code::GA103, "", format!("not a receipt of {RECEIPT_SCHEMA:?}: {error}")))?;
    sealed(receipt, bytes)
}

fn sealed(receipt: Receipt, bytes: &[u8]) -> Result<Sealed, Box<Finding>> {
    let recorded = receipt.receipt_sha256;
    let Some(recorded) = recorded else {
        return Err(refuse(Code::GA103, "/receipt_sha256", "the receipt carries no hash".to_owned()));
    };
    let not_canonical = |error: canonical::CanonicalError| refuse(Code::GA801, "", format!("not canonical: {error}"));
    let sealed = Sealed::new(receipt).map_err(not_canonical)?;
    let found = sealed.hash();
    if found != recorded {
        let message = format!("receipt_sha256 is {recorded}, the canonical bytes of everything else have {found}");
        return Err(refuse(Code::GA801, "/receipt_sha256", message));
    }
    if sealed.bytes() != bytes {
        let at = sealed.bytes().iter().zip(bytes).position(|(a, b)| a != b).unwrap_or(sealed.bytes().len());
        let message = format!("the hash holds, but the bytes are not canonical from byte {at} on");
        return Err(refuse(Code::GA801, "", message));
    }
    Ok(sealed)
}

fn refuse(code: Code, pointer: &str, message: String) -> Box<Finding> {
    Box::new(Finding::new(code, Place::document(pointer), message))
}

/// What is different between a receipt and the one derived again.
#[derive(Debug, Default, PartialEq)]
pub struct Comparison {
    /// GA802: the first difference among what must be equal.
    pub refused: Option<Finding>,
    /// Differences that another version of the tool may make.
    pub told: Vec<String>,
}

/// Compares a receipt with the one that its manifest gives now.
pub fn compare(given: &Sealed, derived: &Sealed) -> Comparison {
    let mut comparison = Comparison::default();
    if given.bytes() == derived.bytes() {
        return comparison;
    }
    let (a, b) = (tree(given), tree(derived));
    let same_tool = given.receipt().tool == derived.receipt().tool;
    for (field, left) in a.as_object().into_iter().flatten() {
        if field == "receipt_sha256" || field == "tool" {
            continue;
        }
        let Some((pointer, left, right)) = first_difference(left, &b[field], format!("/{field}")) else { continue };
        let message = format!("{pointer} is {left} in the receipt, and the manifest gives {right}");
        if DERIVED.contains(&field.as_str()) || same_tool {
            let finding = Finding::new(Code::GA802, Place::document(pointer), message);
            comparison.refused.get_or_insert(finding);
        } else {
            comparison.told.push(message);
        }
    }
    comparison
}

fn tree(sealed: &Sealed) -> Value {
    serde_json::to_value(sealed.receipt()).expect("bug: a sealed receipt is not JSON")
}

/// The first place, in order of keys and elements, at which two values differ, and what stands there in each.
fn first_difference(a: &Value, b: &Value, pointer: String) -> Option<(String, String, String)> {
    match (a, b) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: std::collections::BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            keys.into_iter().find_map(|key| {
                let absent = Value::Null;
                let (l, r) = (left.get(key).unwrap_or(&absent), right.get(key).unwrap_or(&absent));
                first_difference(l, r, format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")))
            })
        }
        (Value::Array(left), Value::Array(right)) => {
            let inside = left.iter().zip(right).enumerate();
            let inside = inside.map(|(index, (l, r))| first_difference(l, r, format!("{pointer}/{index}")));
            let longer = || {
                (left.len() != right.len())
                    .then(|| (pointer.clone(), format!("of {} elements", left.len()), format!("{}", right.len())))
            };
            inside.flatten().next().or_else(longer)
        }
        _ => (a != b).then(|| (pointer, shown(a), shown(b))),
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= SHOWN { text } else { text.chars().take(SHOWN).chain("…".chars()).collect() }
}

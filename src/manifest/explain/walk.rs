//! A tree held against a JSON Schema.
use crate::finding::Code;
use crate::manifest::explain::FAULTS_KEPT;
use crate::manifest::explain::Fault;
use crate::manifest::explain::choice;
use crate::manifest::explain::object;
use crate::manifest::explain::scalar;
use crate::manifest::json::Kind;
use crate::manifest::json::Node;
use crate::manifest::json::Tree;
use crate::manifest::pointer::Pointer;
use crate::manifest::schema;
use serde_json::Value;
use std::ops::Range;

/// Every fault of shape in a tree.
pub(super) fn faults(tree: &Tree<'_>, schema: &Value) -> Vec<Fault> {
    let mut walk = Walk { pointer: Pointer::default(), faults: Vec::new(), untold: 0 };
    if let Some(root) = tree.root() {
        walk.value(schema, root);
    }
    if walk.untold > 0 {
        let message = format!("and {} faults more", walk.untold);
        let last = walk.faults.last().map_or(0..0, |fault| fault.span.clone());
        walk.faults.push(Fault::new(Code::GA103, String::new(), message, last));
    }
    walk.faults
}

/// What has been found on the way.
pub(super) struct Walk {
    pub(super) pointer: Pointer,
    faults: Vec<Fault>,
    /// Faults beyond those kept.
    untold: u64,
}

impl Walk {
    pub(super) fn fault(&mut self, code: Code, span: Range<usize>, message: impl Into<String>) {
        if self.faults.len() < FAULTS_KEPT {
            self.faults.push(Fault::new(code, self.pointer.to_string(), message, span));
        } else {
            self.untold += 1;
        }
    }

    /// Holds one value against its schema.
    pub(super) fn value(&mut self, schema: &Value, node: Node<'_>) {
        let schema = schema::resolve(schema);
        if matches!(node.kind(), Kind::Bad | Kind::Raw) {
            return;
        }
        if node.kind() == Kind::Null {
            let message =
                format!("null, where {} is expected; a field that does not apply is left out", expected(schema));
            return self.fault(Code::GA103, node.span(), message);
        }
        if let Some(branches) = schema::branches(schema) {
            return choice::choose(self, branches, node);
        }
        match schema["type"].as_str() {
            Some("object") if node.kind() == Kind::Object => object::members(self, schema, node),
            Some("array") if node.kind() == Kind::Array => self.elements(schema, node),
            Some("object" | "array") => self.mismatch(schema, node),
            _ => scalar::check(self, schema, node),
        }
    }

    /// A value of another type than expected.
    pub(super) fn mismatch(&mut self, schema: &Value, node: Node<'_>) {
        let message = format!("{}, where {} is expected", found(node), expected(schema));
        self.fault(Code::GA103, node.span(), message);
        self.unknown(node);
    }

    /// Of a value that has no place nothing is said but that keys are repeated in it.
    pub(super) fn unknown(&mut self, node: Node<'_>) {
        for (index, element) in node.elements().enumerate() {
            self.pointer.push_index(index);
            self.unknown(element);
            self.pointer.pop();
        }
        object::duplicates(self, node);
        for (key, value) in node.members() {
            self.pointer.push_key(&key.string().unwrap_or_default());
            self.unknown(value);
            self.pointer.pop();
        }
    }

    fn elements(&mut self, schema: &Value, node: Node<'_>) {
        if let Some(most) = schema["maxItems"].as_u64()
            && node.elements().count() as u64 > most
        {
            self.fault(Code::GA115, node.span(), format!("a list of more than {most} values, which is the limit"));
        }
        let mut seen: Vec<String> = Vec::new();
        for (index, element) in node.elements().enumerate() {
            self.pointer.push_index(index);
            self.value(&schema["items"], element);
            if schema["uniqueItems"] == true
                && let Some(word) = element.string()
            {
                if seen.contains(&word) {
                    let message = format!("{} is listed twice", super::quote(&word));
                    self.fault(Code::GA103, element.span(), message);
                }
                seen.push(word);
            }
            self.pointer.pop();
        }
    }
}

/// What a value is, for a person.
pub(super) fn found(node: Node<'_>) -> String {
    match node.kind() {
        Kind::Null => "null".to_owned(),
        Kind::Bool(value) => value.to_string(),
        Kind::Number => format!("the number {}", super::quote(&String::from_utf8_lossy(node.text()))),
        Kind::String => format!("the string {}", super::quote(&node.string().unwrap_or_default())),
        Kind::Array => "an array".to_owned(),
        Kind::Object => "an object".to_owned(),
        Kind::Raw | Kind::Bad => "something else".to_owned(),
    }
}

/// What a schema asks for, for a person.
pub(super) fn expected(schema: &Value) -> String {
    match schema["x-kind"].as_str() {
        Some("count") => return "a count".to_owned(),
        Some("finite") => return "a number".to_owned(),
        Some("integer") => return "an integer".to_owned(),
        Some("identifier") => return "an identifier".to_owned(),
        Some("digest") => return "a SHA-256 of 64 lower-case hexadecimal digits".to_owned(),
        _ => {}
    }
    if let Some(branches) = schema::branches(schema) {
        return choice::expected(branches);
    }
    if let Some(words) = schema::words(schema) {
        return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    match schema["type"].as_str() {
        Some("object") => "an object".to_owned(),
        Some("array") => "an array".to_owned(),
        Some("boolean") if schema["const"] == true => "true".to_owned(),
        Some("boolean") => "true or false".to_owned(),
        Some("string") => "a string".to_owned(),
        _ => "a value of another type".to_owned(),
    }
}

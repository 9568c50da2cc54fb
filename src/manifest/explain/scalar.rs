//! Numbers, strings and words.
use crate::finding::Code;
use crate::manifest::explain::quote;
use crate::manifest::explain::suggest::suggestion;
use crate::manifest::explain::walk::Walk;
use crate::manifest::identifier::Identifier;
use crate::manifest::identifier::Opaque;
use crate::manifest::json::Form;
use crate::manifest::json::Kind;
use crate::manifest::json::Node;
use crate::manifest::json::form;
use crate::manifest::json::is_nonfinite;
use crate::manifest::limits::COUNT;
use crate::manifest::limits::IDENTIFIER;
use crate::manifest::schema;
use serde_json::Value;

/// Holds a value that is neither object nor array against its schema.
pub(super) fn check(walk: &mut Walk, schema: &Value, node: Node<'_>) {
    let kind = schema["x-kind"].as_str().unwrap_or_default();
    match (node.kind(), kind) {
        (Kind::String, "finite" | "count" | "integer") => not_a_number(walk, schema, node),
        (Kind::Number, "finite") => finite(walk, node),
        (Kind::Number, "count") => count(walk, node),
        (Kind::Number, "integer") => integer(walk, node),
        (Kind::String, "identifier") => identifier(walk, node),
        (Kind::String, "opaque") => opaque(walk, node),
        (Kind::String, "digest") => digest(walk, node),
        (Kind::String, _) if schema["type"] == "string" || schema::words(schema).is_some() => word(walk, schema, node),
        (Kind::Bool(value), _) if schema["type"] == "boolean" => {
            if schema["const"].as_bool().is_some_and(|only| only != value) {
                walk.fault(Code::GA103, node.span(), "false, where only true is possible; leave the field out");
            }
        }
        _ => walk.mismatch(schema, node),
    }
}

fn not_a_number(walk: &mut Walk, schema: &Value, node: Node<'_>) {
    let text = node.string().unwrap_or_default();
    if is_nonfinite(text.as_bytes()) {
        walk.fault(Code::GA106, node.span(), format!("the string {} is not a finite number", quote(&text)));
    } else {
        walk.mismatch(schema, node);
    }
}

fn literal(node: Node<'_>) -> String {
    quote(&String::from_utf8_lossy(node.text()))
}

fn finite(walk: &mut Walk, node: Node<'_>) {
    let value = std::str::from_utf8(node.text()).ok().and_then(|text| text.parse::<f64>().ok());
    if value.is_some_and(f64::is_infinite) {
        walk.fault(Code::GA106, node.span(), format!("{} is beyond binary64", literal(node)));
    }
}

fn count(walk: &mut Walk, node: Node<'_>) {
    let text = node.text();
    let why = if text.starts_with(b"-") {
        "has a sign"
    } else if form(text) == Form::Real {
        "has a fraction or an exponent"
    } else if parse::<u64>(text).is_none_or(|value| value > COUNT) {
        "is above 2^53"
    } else {
        return;
    };
    walk.fault(Code::GA105, node.span(), format!("{} is no count: it {why}", literal(node)));
}

fn integer(walk: &mut Walk, node: Node<'_>) {
    let text = node.text();
    let why = if form(text) == Form::Real {
        "has a fraction or an exponent"
    } else if text == b"-0" {
        "has a sign"
    } else if parse::<i64>(text).is_none_or(|value| value.unsigned_abs() > COUNT) {
        "is beyond 2^53"
    } else {
        return;
    };
    walk.fault(Code::GA105, node.span(), format!("{} is no integer here: it {why}", literal(node)));
}

fn parse<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn identifier(walk: &mut Walk, node: Node<'_>) {
    let text = node.string().unwrap_or_default();
    if Identifier::new(&text).is_some() {
        return;
    }
    let start: String = text.chars().take(IDENTIFIER).collect();
    let (code, message) = if text.len() > IDENTIFIER && Identifier::new(&start).is_some() {
        (Code::GA115, format!("the identifier {} has more than {IDENTIFIER} characters", quote(&text)))
    } else if text.is_empty() {
        (Code::GA107, "the identifier is empty".to_owned())
    } else {
        let grammar = "letters, digits and ._:@/- , beginning with a letter or digit";
        (Code::GA107, format!("the identifier {} has something else in it than {grammar}", quote(&text)))
    };
    walk.fault(code, node.span(), message);
}

fn opaque(walk: &mut Walk, node: Node<'_>) {
    let text = node.string().unwrap_or_default();
    if Opaque::new(&text).is_none() {
        let message = format!("the string {} has more than {IDENTIFIER} characters", quote(&text));
        walk.fault(Code::GA115, node.span(), message);
    }
}

fn digest(walk: &mut Walk, node: Node<'_>) {
    let text = node.string().unwrap_or_default();
    if text.parse::<crate::canonical::Digest>().is_err() {
        let message = format!("{} is no SHA-256 of 64 lower-case hexadecimal digits", quote(&text));
        walk.fault(Code::GA103, node.span(), message);
    }
}

fn word(walk: &mut Walk, schema: &Value, node: Node<'_>) {
    let Some(words) = schema::words(schema) else { return };
    let text = node.string().unwrap_or_default();
    if words.contains(&&*text) {
        return;
    }
    let list = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let one_of = if words.len() == 1 { "only" } else { "one of" };
    let near = suggestion(&text, words.iter().copied());
    let (code, verb) = if schema["x-kind"] == "version" { (Code::GA102, "known") } else { (Code::GA103, "expected") };
    walk.fault(code, node.span(), format!("{}, where {one_of} {list} is {verb}{near}", quote(&text)));
}

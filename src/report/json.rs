//! JSON for people and other tools: indented, a newline at the end, and nothing in it that a terminal obeys.
//!
//! A receipt is canonical instead (`crate::canonical`): its bytes are hashed.
use crate::manifest::is_unseen;
use serde::Serialize;
use std::fmt::Write;

/// A document as indented JSON.
///
/// # Panics
///
/// If the document is no JSON, such as a map whose keys are no strings.
pub fn pretty<T: Serialize>(document: &T) -> String {
    harmless(&(serde_json::to_string_pretty(document).expect("bug: a document that is not JSON") + "\n"))
}

/// The same JSON with every character that a terminal could obey, or that would not be seen, written as `\u009b`.
///
/// Such a character stands only in strings, so the value stays the same. JSON itself requires it of U+0000–U+001F alone.
pub fn harmless(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_unseen(c) && c != '\n' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").expect("bug: writing to a string fails");
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_kept_and_nothing_hidden_is_left() {
        let text = "a\u{7f}\u{9b}31m\u{202e}\u{e0041}\u{1b}\n漢";
        let json = pretty(&[text]);
        assert_eq!(json, "[\n  \"a\\u007f\\u009b31m\\u202e\\udb40\\udc41\\u001b\\n漢\"\n]\n");
        assert_eq!(serde_json::from_str::<[String; 1]>(&json).expect("JSON"), [text]);
    }
}

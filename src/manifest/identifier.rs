//! Strings from outside: identifiers with a grammar, and opaque ones with a length.
use crate::manifest::limits::IDENTIFIER;
use compact_str::CompactString;
use schemars::JsonSchema;
use schemars::Schema;
use schemars::SchemaGenerator;
use schemars::json_schema;
use serde::Serialize;
use serde::Serializer;
use serde::de::Deserialize;
use serde::de::Deserializer;
use serde::de::Error;
use serde::de::Visitor;
use std::borrow::Cow;
use std::fmt;

/// Names one microbatch's execution. Short ones, up to 24 bytes, need no allocation: there is one in every backward.
///
/// It is unique in the run. `^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}$`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identifier(CompactString);

impl Identifier {
    /// Takes a string that follows the grammar.
    pub fn new(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let first = bytes.first().is_some_and(u8::is_ascii_alphanumeric);
        let rest = bytes
            .iter()
            .all(|b| matches!(b, b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'.' | b'_' | b':' | b'@' | b'/' | b'-'));
        (first && rest && bytes.len() <= IDENTIFIER).then(|| Identifier(CompactString::new(text)))
    }

    /// The identifier's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A string that is only carried along, of at most 128 characters: a random state's digest, a software version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opaque(Box<str>);

impl Opaque {
    /// Takes a string that is not too long.
    pub fn new(text: &str) -> Option<Self> {
        (text.len() <= IDENTIFIER || text.chars().count() <= IDENTIFIER).then(|| Opaque(text.into()))
    }

    /// The text, which may hold any character.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! string_newtype {
    ($name:ident, $expecting:literal, $schema:tt) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }

                    fn visit_str<E: Error>(self, text: &str) -> Result<$name, E> {
                        $name::new(text).ok_or_else(|| E::custom(concat!("not ", $expecting)))
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

string_newtype!(Identifier, "an identifier", {
    "type": "string",
    "pattern": "^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}$",
    "x-kind": "identifier"
});
string_newtype!(Opaque, "a string of at most 128 characters", {
    "type": "string",
    "maxLength": 128,
    "x-kind": "opaque"
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grammar_of_identifiers() {
        for good in ["a", "0", "w0-r0-m0", "A.b_c:d@e/f-g", &"x".repeat(128)] {
            assert!(Identifier::new(good).is_some(), "{good}");
        }
        for bad in ["", "-a", "/a", "a b", "a\u{1b}[0m", "<script>", "::error", "é", &"x".repeat(129)] {
            assert!(Identifier::new(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn opaque_strings_are_counted_in_characters() {
        assert!(Opaque::new(&"é".repeat(128)).is_some());
        assert!(Opaque::new(&"é".repeat(129)).is_none());
    }
}

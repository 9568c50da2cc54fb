//! A whole number that may be negative.
use crate::manifest::limits::COUNT;
use schemars::JsonSchema;
use schemars::Schema;
use schemars::SchemaGenerator;
use schemars::json_schema;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::de::Error;
use serde::de::Unexpected;
use serde::de::Visitor;
use std::borrow::Cow;
use std::fmt;

/// A label's number: an integer from −2^53 to 2^53, so that binary64 holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Integer(i64);

impl Integer {
    /// Takes an integer that binary64 holds.
    pub fn new(value: i64) -> Option<Self> {
        (value.unsigned_abs() <= COUNT).then_some(Integer(value))
    }

    /// The number.
    pub fn get(self) -> i64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole;

        impl Visitor<'_> for Whole {
            type Value = Integer;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an integer from -2^53 to 2^53 without fraction or exponent")
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Integer, E> {
                Integer::new(value).ok_or_else(|| E::invalid_value(Unexpected::Signed(value), &self))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Integer, E> {
                let signed = i64::try_from(value).ok().and_then(Integer::new);
                signed.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(value), &self))
            }
        }
        deserializer.deserialize_i64(Whole)
    }
}

impl JsonSchema for Integer {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Integer".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": -(1_i64 << 53), "maximum": 1_i64 << 53, "x-kind": "integer"})
    }
}

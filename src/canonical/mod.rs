//! Canonical bytes (RFC 8785) and their SHA-256.
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use std::borrow::Cow;

/// TEMPORARY stand-in; replaced by the numeric branch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Finite(f64);
impl Finite {
    /// Refuses nonfinite.
    pub fn new(x: f64) -> Option<Self> {
        x.is_finite().then_some(Finite(x + 0.0))
    }
    /// The value.
    pub fn value(self) -> f64 {
        self.0
    }
}
impl<'de> Deserialize<'de> for Finite {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Finite::new(f64::deserialize(d)?).ok_or_else(|| D::Error::custom("nonfinite"))
    }
}
impl JsonSchema for Finite {
    fn schema_name() -> Cow<'static, str> {
        "Finite".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type":"number","x-kind":"finite"})
    }
}
/// TEMPORARY
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Count(u64);
impl Count {
    /// Refuses above 2^53.
    pub fn new(x: u64) -> Option<Self> {
        (x <= 1 << 53).then_some(Count(x))
    }
    /// The value.
    pub fn value(self) -> u64 {
        self.0
    }
}
impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Count(u64::deserialize(d)?))
    }
}
impl JsonSchema for Count {
    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type":"integer","x-kind":"count"})
    }
}
/// TEMPORARY
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Digest(pub [u8; 32]);

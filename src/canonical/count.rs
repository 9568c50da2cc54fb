//! A count.
//!
//! Invariant: 0 ..= 2^53, so that canonical JSON, in which every number is a binary64, holds it exactly.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU64;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number of targets, microbatches or the like: an integer of 0 ..= 2^53.
///
/// It is held as its successor, which is never 0, so that an `Option<Count>` is no larger than a `Count`: an event has
/// many of them, and is moved several times.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Count(NonZeroU64);

/// 2^53.
const LARGEST: u64 = 1 << 53;

/// A count above 2^53.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is above 2^53, the largest count that JSON numbers hold exactly")]
pub struct UnsafeCount(pub u64);

impl Count {
    /// None.
    pub const ZERO: Self = Self(NonZeroU64::MIN);

    /// 2^53 = 9007199254740992.
    pub const MAX: Self = Self(NonZeroU64::MIN.saturating_add(LARGEST));

    /// Takes an integer of at most 2^53.
    ///
    /// # Errors
    ///
    /// If it is above (GA105).
    pub const fn new(value: u64) -> Result<Self, UnsafeCount> {
        if value <= LARGEST { Ok(Self(NonZeroU64::MIN.saturating_add(value))) } else { Err(UnsafeCount(value)) }
    }

    /// The integer, or the largest count where it is above: for what was refused before it could be.
    #[must_use]
    pub const fn saturating(value: u64) -> Self {
        match Self::new(value) {
            Ok(count) => count,
            Err(_) => Self::MAX,
        }
    }

    /// The integer.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get() - 1
    }

    /// The integer as a binary64, exactly.
    #[must_use]
    pub const fn to_f64(self) -> f64 {
        self.get() as f64
    }

    /// The sum, or `None` where it is above 2^53 (GA105).
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        // Two values of at most 2^53 do not overflow.
        match Self::new(self.get() + other.get()) {
            Ok(sum) => Some(sum),
            Err(_) => None,
        }
    }
}

impl Default for Count {
    fn default() -> Self {
        Self::ZERO
    }
}

impl fmt::Debug for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.get(), f)
    }
}

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.get())
    }
}

impl TryFrom<u64> for Count {
    type Error = UnsafeCount;

    fn try_from(value: u64) -> Result<Self, UnsafeCount> {
        Self::new(value)
    }
}

impl From<u32> for Count {
    fn from(value: u32) -> Self {
        Self(NonZeroU64::MIN.saturating_add(value.into()))
    }
}

impl From<Count> for u64 {
    fn from(count: Count) -> Self {
        count.get()
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.get(), f)
    }
}

/// Takes JSON integers only: no fraction, exponent or sign, also where their value is a count.
impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Integer;

        impl Visitor<'_> for Integer {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count: an integer from 0 to 2^53 without sign, fraction or exponent")
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Count, E> {
                Count::new(value).map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
            }
        }

        deserializer.deserialize_u64(Integer)
    }
}

/// Inline, so that who walks a schema finds `x-kind` where the value stands.
impl JsonSchema for Count {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": LARGEST, "x-kind": "count" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<u64, String> {
        serde_json::from_str::<Count>(json).map(Count::get).map_err(|error| error.to_string())
    }

    #[test]
    fn holds_up_to_the_limit_and_not_one_more() {
        assert_eq!(Count::new(1 << 53), Ok(Count::MAX));
        assert_eq!(Count::try_from((1_u64 << 53) + 1), Err(UnsafeCount((1 << 53) + 1)));
        assert_eq!(Count::MAX.to_f64(), 9_007_199_254_740_992.0);
        assert_eq!(Count::MAX.checked_add(Count::ZERO), Some(Count::MAX));
        assert_eq!(Count::MAX.checked_add(Count::from(1)), None);
        assert_eq!(Count::MAX.checked_add(Count::MAX), None);
        assert_eq!(Count::from(2).checked_add(Count::from(3)), Some(Count::from(5)));
    }

    #[test]
    fn reads_plain_integers() {
        assert_eq!(read("0"), Ok(0));
        assert_eq!(read("9007199254740992"), Ok(1 << 53));
    }

    #[test]
    fn reads_nothing_else() {
        let bad =
            ["9007199254740993", "18446744073709551616", "-1", "-0", "1.0", "1e2", "1E0", "01", "+1", "\"1\"", "null"];
        for bad in bad {
            assert!(read(bad).is_err(), "{bad}");
        }
        let message = read("3.0").expect_err("a fraction");
        assert_eq!(
            message,
            "invalid type: floating point `3.0`, expected a count: an integer from 0 to 2^53 without sign, fraction or \
             exponent at line 1 column 3"
        );
    }

    #[test]
    fn the_schema_names_kind_and_range() {
        let schema = schemars::schema_for!(Count);
        let schema = schema.as_value();
        assert_eq!(schema["type"], "integer");
        assert_eq!((&schema["minimum"], &schema["maximum"]), (&0.into(), &9_007_199_254_740_992_u64.into()));
        assert_eq!(schema["x-kind"], "count");
    }
}

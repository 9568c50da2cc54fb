//! A finite real.
//!
//! Invariant: never NaN, never infinite, never −0; so equality, order and hash are those of the real numbers, and
//! every value has one canonical text.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU64;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A finite binary64; −0 becomes 0.
///
/// It is held as the complement of its bits, which is 0 only for a NaN, so that an `Option<Finite>` is no larger than a
/// `Finite`: an event has many of them, and is moved several times.
#[derive(Clone, Copy)]
pub struct Finite(NonZeroU64);

/// A number that is NaN or infinite.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{0} is not a finite number")]
pub struct NotFinite(pub f64);

impl Finite {
    /// 0.
    pub const ZERO: Self = match Self::new(0.0) {
        Ok(zero) => zero,
        Err(_) => unreachable!(),
    };

    /// Takes a finite number; −0 becomes 0.
    ///
    /// # Errors
    ///
    /// If it is NaN or infinite.
    pub const fn new(value: f64) -> Result<Self, NotFinite> {
        // −0 + 0 is 0.
        match NonZeroU64::new(!(value + 0.0).to_bits()) {
            Some(bits) if value.is_finite() => Ok(Self(bits)),
            _ => Err(NotFinite(value)),
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> f64 {
        f64::from_bits(!self.0.get())
    }
}

impl TryFrom<f64> for Finite {
    type Error = NotFinite;

    fn try_from(value: f64) -> Result<Self, NotFinite> {
        Self::new(value)
    }
}

impl From<Finite> for f64 {
    fn from(value: Finite) -> Self {
        value.get()
    }
}

impl Default for Finite {
    fn default() -> Self {
        Self::ZERO
    }
}

impl PartialEq for Finite {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Finite {}

impl PartialOrd for Finite {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Finite {
    fn cmp(&self, other: &Self) -> Ordering {
        // The total order is the numeric one where there is neither NaN nor −0.
        self.get().total_cmp(&other.get())
    }
}

impl Hash for Finite {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Debug for Finite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.get(), f)
    }
}

impl fmt::Display for Finite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.get(), f)
    }
}

impl Serialize for Finite {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.get())
    }
}

/// Takes JSON numbers only, integers too, rounded to nearest; serde_json itself refuses those that overflow.
impl<'de> Deserialize<'de> for Finite {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;

        impl Visitor<'_> for Number {
            type Value = Finite;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a finite number")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Finite, E> {
                Finite::new(value).map_err(|_| E::invalid_value(Unexpected::Float(value), &self))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Finite, E> {
                self.visit_f64(value as f64)
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Finite, E> {
                self.visit_f64(value as f64)
            }
        }

        deserializer.deserialize_f64(Number)
    }
}

/// Inline, so that who walks a schema finds `x-kind` where the value stands.
impl JsonSchema for Finite {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Finite".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "x-kind": "finite" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<f64, String> {
        serde_json::from_str::<Finite>(json).map(Finite::get).map_err(|error| error.to_string())
    }

    #[test]
    fn only_finite_numbers_are_held() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(Finite::new(bad).is_err());
        }
        assert_eq!(Finite::new(f64::INFINITY).expect_err("infinite").to_string(), "inf is not a finite number");
        assert_eq!(Finite::new(-0.0).expect("finite").get().to_bits(), 0);
        assert_eq!(Finite::new(-5e-324).map(f64::from), Ok(-5e-324));
    }

    #[test]
    fn the_order_is_that_of_the_numbers() {
        let numbers =
            [f64::MIN, -1.0, -5e-324, 0.0, 5e-324, 1.0, f64::MAX].map(|value| Finite::new(value).expect("finite"));
        assert!(numbers.is_sorted_by(|left, right| left < right));
        assert_eq!(Finite::new(-0.0), Ok(Finite::ZERO));
    }

    #[test]
    fn reads_any_json_number_with_correct_rounding() {
        assert_eq!(read("1.5"), Ok(1.5));
        assert_eq!(read("3"), Ok(3.0));
        assert_eq!(read("-3"), Ok(-3.0));
        assert_eq!(read("-0").map(f64::to_bits), Ok(0));
        assert_eq!(read("-0.0e5").map(f64::to_bits), Ok(0));
        assert_eq!(read("9007199254740993"), Ok(9_007_199_254_740_992.0));
        assert_eq!(read("18446744073709551616.5"), Ok(18_446_744_073_709_551_616.0));
        // Halfway between 2^65 and its successor, and a little more.
        assert_eq!(read("36893488147419107328"), Ok(36_893_488_147_419_103_232.0));
        assert_eq!(read("36893488147419107329"), Ok(36_893_488_147_419_111_424.0));
        assert_eq!(read("2.4703282292062328e-324"), Ok(5e-324));
        assert_eq!(read("1e-999"), Ok(0.0));
    }

    #[test]
    fn reads_nothing_else() {
        for bad in ["1e999", "-1e999", "\"1\"", "null", "true", "[1]", "{}", "NaN", "Infinity", "+1", ".5", "01"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let string = read("\"NaN\"").expect_err("a string");
        assert!(string.starts_with("invalid type: string \"NaN\", expected a finite number"), "{string}");
    }

    #[test]
    fn the_schema_names_its_kind() {
        let schema = schemars::schema_for!(Finite);
        assert_eq!((&schema.as_value()["type"], &schema.as_value()["x-kind"]), (&"number".into(), &"finite".into()));
    }
}

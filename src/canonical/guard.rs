//! The check that runs before anything is written: a serializer that writes nothing and refuses what canonical JSON
//! would lose.
//!
//! Invariant: what passes is written by `serde_jcs` without a number changed, a value nulled or a key dropped. It is a
//! pass of its own, rather than a wrapper round `serde_jcs`' serializer, so that its error can say where.

use std::collections::BTreeSet;
use std::fmt;

use serde::ser::{self, Serialize, Serializer};
use serde_json::Value;

/// What canonical JSON cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// NaN or infinity, which would become `null`.
    #[error("a number that is not finite")]
    Nonfinite,
    /// An integer beyond ±2^53, which would be rounded.
    #[error("the integer {0}, beyond 2^53")]
    UnsafeInteger(String),
    /// A map key that is not a string.
    #[error("a key that is not a string")]
    KeyNotString,
    /// The same key twice in one map, of which the last would win.
    #[error("the key {0:?} twice")]
    DuplicateKey(String),
    /// Raw JSON, whose numbers cannot be seen.
    #[error("unparsed JSON")]
    Raw,
    /// What the value's own `Serialize` said.
    #[error("{0}")]
    Other(String),
}

/// Where a value holds what canonical JSON cannot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at {pointer:?}")]
pub struct CanonicalError {
    /// What is there.
    #[source]
    pub problem: Problem,
    /// JSON Pointer (RFC 6901) of the place; empty for the value itself.
    pub pointer: String,
}

impl From<Problem> for CanonicalError {
    fn from(problem: Problem) -> Self {
        Self { problem, pointer: String::new() }
    }
}

impl ser::Error for CanonicalError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Problem::Other(message.to_string()).into()
    }
}

impl CanonicalError {
    /// The same, seen from the object or array around it.
    fn inside(mut self, token: impl fmt::Display) -> Self {
        let token = token.to_string().replace('~', "~0").replace('/', "~1");
        self.pointer.insert_str(0, &token);
        self.pointer.insert(0, '/');
        self
    }
}

type Outcome<T = ()> = Result<T, CanonicalError>;

/// Refuses what canonical JSON cannot hold.
pub(super) fn check<T: Serialize + ?Sized>(value: &T) -> Outcome {
    value.serialize(Guard)
}

fn integer(value: impl TryInto<i64> + Copy + fmt::Display) -> Outcome {
    const LARGEST: u64 = 1 << 53;
    match value.try_into() {
        Ok(small) if small.unsigned_abs() <= LARGEST => Ok(()),
        _ => Err(Problem::UnsafeInteger(value.to_string()).into()),
    }
}

fn float(value: f64) -> Outcome {
    if value.is_finite() { Ok(()) } else { Err(Problem::Nonfinite.into()) }
}

/// How serde_json marks raw JSON.
const RAW: &str = "$serde_json::private::RawValue";

struct Guard;

/// Methods for values in which there is nothing to refuse.
macro_rules! pass {
    ($($method:ident($($type:ty),*))+) => {
        $(fn $method(self, $(_: $type),*) -> Outcome { Ok(()) })+
    };
}

/// Methods for integers.
macro_rules! integers {
    ($($method:ident($type:ty))+) => {
        $(fn $method(self, value: $type) -> Outcome { integer(value) })+
    };
}

impl Serializer for Guard {
    type Ok = ();
    type Error = CanonicalError;
    type SerializeSeq = Elements;
    type SerializeTuple = Elements;
    type SerializeTupleStruct = Elements;
    type SerializeTupleVariant = Elements;
    type SerializeMap = Members;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Fields;

    pass! {
        serialize_bool(bool) serialize_char(char) serialize_str(&str) serialize_bytes(&[u8]) serialize_none()
        serialize_unit() serialize_unit_struct(&'static str)
        serialize_unit_variant(&'static str, u32, &'static str)
    }

    integers! {
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64) serialize_i128(i128)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) serialize_u128(u128)
    }

    fn serialize_f32(self, value: f32) -> Outcome {
        float(value.into())
    }

    fn serialize_f64(self, value: f64) -> Outcome {
        float(value)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, _: &T) -> Outcome {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Outcome {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Outcome {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T>(self, _: &'static str, _: u32, variant: &'static str, value: &T) -> Outcome
    where
        T: Serialize + ?Sized,
    {
        value.serialize(self).map_err(|error| error.inside(variant))
    }

    fn serialize_seq(self, _: Option<usize>) -> Outcome<Elements> {
        Ok(Elements::default())
    }

    fn serialize_tuple(self, _: usize) -> Outcome<Elements> {
        Ok(Elements::default())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Outcome<Elements> {
        Ok(Elements::default())
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, tag: &'static str, _: usize) -> Outcome<Elements> {
        Ok(Elements { tag: Some(tag), next: 0 })
    }

    fn serialize_map(self, _: Option<usize>) -> Outcome<Members> {
        Ok(Members::default())
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Outcome<Fields> {
        if name == RAW { Err(Problem::Raw.into()) } else { Ok(Fields { tag: None }) }
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, tag: &'static str, _: usize) -> Outcome<Fields> {
        Ok(Fields { tag: Some(tag) })
    }
}

/// An array, in an object under `tag` if it is a variant's.
#[derive(Default)]
struct Elements {
    tag: Option<&'static str>,
    next: usize,
}

impl Elements {
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        let index = self.next;
        self.next += 1;
        check(value).map_err(|error| tagged(error.inside(index), self.tag))
    }
}

/// A struct's object, in another under `tag` if it is a variant's. Its keys are the language's and differ.
struct Fields {
    tag: Option<&'static str>,
}

impl Fields {
    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Outcome {
        check(value).map_err(|error| tagged(error.inside(key), self.tag))
    }
}

fn tagged(error: CanonicalError, tag: Option<&'static str>) -> CanonicalError {
    match tag {
        Some(tag) => error.inside(tag),
        None => error,
    }
}

/// A map's object, or that of a struct with flattened fields.
#[derive(Default)]
struct Members {
    seen: BTreeSet<String>,
    /// The key whose value comes next.
    key: String,
}

impl ser::SerializeMap for Members {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Outcome {
        // Only what is a string as it stands: serde_json would quietly write the digits of a number.
        let Ok(Value::String(key)) = serde_json::to_value(key) else { return Err(Problem::KeyNotString.into()) };
        self.key = key;
        if self.seen.insert(self.key.clone()) {
            Ok(())
        } else {
            Err(CanonicalError::from(Problem::DuplicateKey(self.key.clone())).inside(&self.key))
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        check(value).map_err(|error| error.inside(&self.key))
    }

    fn end(self) -> Outcome {
        Ok(())
    }
}

/// The compound traits, which differ only in name.
macro_rules! compound {
    ($($name:ident for $type:ty: $method:ident($($key:ident)?) = $inner:ident;)+) => {$(
        impl ser::$name for $type {
            type Ok = ();
            type Error = CanonicalError;

            fn $method<T: Serialize + ?Sized>(&mut self, $($key: &'static str,)? value: &T) -> Outcome {
                self.$inner($($key,)? value)
            }

            fn end(self) -> Outcome {
                Ok(())
            }
        }
    )+};
}

compound! {
    SerializeSeq for Elements: serialize_element() = element;
    SerializeTuple for Elements: serialize_element() = element;
    SerializeTupleStruct for Elements: serialize_field() = element;
    SerializeTupleVariant for Elements: serialize_field() = element;
    SerializeStruct for Fields: serialize_field(key) = field;
    SerializeStructVariant for Fields: serialize_field(key) = field;
}

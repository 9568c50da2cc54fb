//! The serializer: RFC 8785 bytes in one pass, which refuses what canonical JSON would lose and says where it stood.
//!
//! Invariant: the bytes are those that `serde_jcs` writes for the same value (tested by property); that crate buffers
//! each object's members in a map and takes several times as long. Here members go out in the order in which they come;
//! what is done about an object whose keys come in another order is up to an [`Order`].

use super::error::CanonicalError;
use super::error::Problem;
use super::order::Order;
use super::text;
use serde::ser::{self, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::mem;

pub(super) type Outcome<T = ()> = Result<T, Refused>;

/// The largest integer below which binary64 holds every other.
const LARGEST: u64 = 1 << 53;

/// How serde_json marks raw JSON.
const RAW: &str = "$serde_json::private::RawValue";

/// Why nothing can be written, in one word: every call gives one of these.
#[derive(Debug)]
pub(super) struct Refused(Box<CanonicalError>);

impl Refused {
    /// The same, seen from the object or array around it.
    pub(super) fn inside(self, token: impl fmt::Display) -> Self {
        Refused(Box::new(self.0.inside(token)))
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Refused(Box::new(problem.into()))
    }
}

impl From<Refused> for CanonicalError {
    fn from(Refused(error): Refused) -> Self {
        *error
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Refused {}

impl ser::Error for Refused {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Problem::Other(message.to_string()).into()
    }
}

/// Appends to some bytes.
pub(super) struct Writer<'o, O> {
    pub(super) out: &'o mut Vec<u8>,
    pub(super) order: O,
}

impl<O: Order> Writer<'_, O> {
    fn literal(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn integer<I: itoa::Integer + TryInto<i64> + Copy>(&mut self, value: I) -> Outcome {
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(value);
        match value.try_into() {
            Ok(small) if small.unsigned_abs() <= LARGEST => {
                self.literal(digits);
                Ok(())
            }
            _ => Err(Problem::UnsafeInteger(digits.to_owned()).into()),
        }
    }

    /// Writes `{"tag":` before a variant's value.
    #[inline]
    fn open_variant(&mut self, tag: &str) {
        self.out.push(b'{');
        text::string(self.out, tag);
        self.out.push(b':');
    }
}

/// Methods for integers.
macro_rules! integers {
    ($($method:ident($type:ty))+) => {
        $(fn $method(self, value: $type) -> Outcome { self.integer(value) })+
    };
}

impl<'a, 'o, O: Order> Serializer for &'a mut Writer<'o, O> {
    type Ok = ();
    type Error = Refused;
    type SerializeSeq = Array<'a, 'o, O>;
    type SerializeTuple = Array<'a, 'o, O>;
    type SerializeTupleStruct = Array<'a, 'o, O>;
    type SerializeTupleVariant = Array<'a, 'o, O>;
    type SerializeMap = Object<'a, 'o, O>;
    type SerializeStruct = Object<'a, 'o, O>;
    type SerializeStructVariant = Object<'a, 'o, O>;

    integers! {
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64) serialize_i128(i128)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) serialize_u128(u128)
    }

    fn serialize_bool(self, value: bool) -> Outcome {
        self.literal(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Outcome {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Outcome {
        if !value.is_finite() {
            return Err(Problem::Nonfinite.into());
        }
        text::number(self.out, value);
        Ok(())
    }

    fn serialize_char(self, value: char) -> Outcome {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Outcome {
        text::string(self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Outcome {
        value.serialize(self)
    }

    fn serialize_none(self) -> Outcome {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Outcome {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Outcome {
        self.literal("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Outcome {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Outcome {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Outcome {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T>(self, _: &'static str, _: u32, variant: &'static str, value: &T) -> Outcome
    where
        T: Serialize + ?Sized,
    {
        self.open_variant(variant);
        value.serialize(&mut *self).map_err(|error| error.inside(variant))?;
        self.out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Outcome<Array<'a, 'o, O>> {
        Ok(Array::new(self, None))
    }

    fn serialize_tuple(self, _: usize) -> Outcome<Array<'a, 'o, O>> {
        Ok(Array::new(self, None))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Outcome<Array<'a, 'o, O>> {
        Ok(Array::new(self, None))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        tag: &'static str,
        _: usize,
    ) -> Outcome<Array<'a, 'o, O>> {
        Ok(Array::new(self, Some(tag)))
    }

    fn serialize_map(self, _: Option<usize>) -> Outcome<Object<'a, 'o, O>> {
        Ok(Object::new(self, None))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Outcome<Object<'a, 'o, O>> {
        if name == RAW { Err(Problem::Raw.into()) } else { Ok(Object::new(self, None)) }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        tag: &'static str,
        _: usize,
    ) -> Outcome<Object<'a, 'o, O>> {
        Ok(Object::new(self, Some(tag)))
    }
}

/// An array, in an object under `tag` if it is a variant's.
pub(super) struct Array<'a, 'o, O> {
    writer: &'a mut Writer<'o, O>,
    tag: Option<&'static str>,
    next: usize,
}

impl<'a, 'o, O: Order> Array<'a, 'o, O> {
    fn new(writer: &'a mut Writer<'o, O>, tag: Option<&'static str>) -> Self {
        if let Some(tag) = tag {
            writer.open_variant(tag);
        }
        writer.out.push(b'[');
        Array { writer, tag, next: 0 }
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        if self.next > 0 {
            self.writer.out.push(b',');
        }
        value.serialize(&mut *self.writer).map_err(|error| tagged(error.inside(self.next), self.tag))?;
        self.next += 1;
        Ok(())
    }

    fn finish(self) -> Outcome {
        self.writer.literal(if self.tag.is_some() { "]}" } else { "]" });
        Ok(())
    }
}

/// An object, in another under `tag` if it is a variant's.
pub(super) struct Object<'a, 'o, O> {
    writer: &'a mut Writer<'o, O>,
    tag: Option<&'static str>,
    /// What the order gave.
    opened: usize,
    is_empty: bool,
    /// A map's key whose value comes next.
    key: String,
}

impl<'a, 'o, O: Order> Object<'a, 'o, O> {
    #[inline]
    fn new(writer: &'a mut Writer<'o, O>, tag: Option<&'static str>) -> Self {
        if let Some(tag) = tag {
            writer.open_variant(tag);
        }
        writer.out.push(b'{');
        let opened = writer.order.open();
        Object { writer, tag, opened, is_empty: true, key: String::new() }
    }

    /// Begins a member, up to its colon. Inline as all that leads here, so that a literal key is known.
    #[inline(always)]
    fn member(&mut self, key: Cow<'static, str>) {
        let Writer { out, order } = &mut *self.writer;
        if !mem::take(&mut self.is_empty) {
            out.push(b',');
        }
        let start = out.len();
        text::string(out, &key);
        out.push(b':');
        order.member(key, start);
    }

    #[inline(always)]
    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Outcome {
        self.member(Cow::Borrowed(key));
        value.serialize(&mut *self.writer).map_err(|error| tagged(error.inside(key), self.tag))
    }

    #[inline]
    fn finish(self) -> Outcome {
        let Writer { out, order } = &mut *self.writer;
        order.close(self.opened, out).map_err(|error| tagged(error, self.tag))?;
        self.writer.literal(if self.tag.is_some() { "}}" } else { "}" });
        Ok(())
    }
}

fn tagged(error: Refused, tag: Option<&'static str>) -> Refused {
    match tag {
        Some(tag) => error.inside(tag),
        None => error,
    }
}

impl<O: Order> ser::SerializeMap for Object<'_, '_, O> {
    type Ok = ();
    type Error = Refused;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Outcome {
        // Only what is a string as it stands: serde_json would quietly write the digits of a number.
        let Ok(Value::String(key)) = serde_json::to_value(key) else { return Err(Problem::KeyNotString.into()) };
        self.key = key;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        self.member(Cow::Owned(self.key.clone()));
        value.serialize(&mut *self.writer).map_err(|error| error.inside(&self.key))
    }

    fn end(self) -> Outcome {
        self.finish()
    }
}

/// The other compound traits, which differ only in name.
macro_rules! compound {
    ($($name:ident for $type:ty: $method:ident($($key:ident)?) = $inner:ident;)+) => {$(
        impl<O: Order> ser::$name for $type {
            type Ok = ();
            type Error = Refused;

            #[inline(always)]
            fn $method<T: Serialize + ?Sized>(&mut self, $($key: &'static str,)? value: &T) -> Outcome {
                self.$inner($($key,)? value)
            }

            fn end(self) -> Outcome {
                self.finish()
            }
        }
    )+};
}

compound! {
    SerializeSeq for Array<'_, '_, O>: serialize_element() = element;
    SerializeTuple for Array<'_, '_, O>: serialize_element() = element;
    SerializeTupleStruct for Array<'_, '_, O>: serialize_field() = element;
    SerializeTupleVariant for Array<'_, '_, O>: serialize_field() = element;
    SerializeStruct for Object<'_, '_, O>: serialize_field(key) = field;
    SerializeStructVariant for Object<'_, '_, O>: serialize_field(key) = field;
}

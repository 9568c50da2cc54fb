//! The serializer: RFC 8785 bytes in one pass, which refuses what canonical JSON would lose and says where it stood.
//!
//! Invariant: the bytes are those that `serde_jcs` writes for the same value (tested by property); that crate buffers
//! each object's members in a map and takes several times as long. Here members go out in the order in which they come, and
//! an object whose keys turn out to be in another order is put in order when it ends.

use super::digest::Digest;
use super::error::{CanonicalError, Problem};
use super::text;
use serde::ser::{self, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::mem;
use std::ops::Range;

type Outcome<T = ()> = Result<T, CanonicalError>;

/// The largest integer below which binary64 holds every other.
const LARGEST: u64 = 1 << 53;

/// How serde_json marks raw JSON.
const RAW: &str = "$serde_json::private::RawValue";

/// What has been written, and the members of the objects that are still open.
#[derive(Default)]
pub(super) struct Writer {
    out: Vec<u8>,
    members: Vec<Member>,
    /// The members of the object that ended last and was in no other.
    outermost: Vec<Member>,
    /// Room for the members of an object while they are put in order.
    scratch: Vec<u8>,
}

/// One member of an open object.
struct Member {
    key: Cow<'static, str>,
    /// Where its text begins.
    start: usize,
}

/// Writes one value.
pub(super) fn write<T: Serialize + ?Sized>(value: &T) -> Outcome<Vec<u8>> {
    let mut writer = Writer::default();
    value.serialize(&mut writer)?;
    Ok(writer.out)
}

/// Writes an object, and into it under `key` the digest of its bytes without that member.
pub(super) fn seal<T: Serialize + ?Sized>(object: &T, key: &'static str) -> Outcome<(Vec<u8>, Digest)> {
    let mut writer = Writer::default();
    object.serialize(&mut writer)?;
    let Writer { mut out, outermost, .. } = writer;
    assert!(!outermost.is_empty(), "bug: what is sealed is an object with members");
    let digest = Digest::of(&out);
    let member = format!("\"{key}\":\"{digest}\"");
    match outermost.iter().find(|other| by_utf16(key, &other.key).is_lt()) {
        Some(next) => drop(out.splice(next.start..next.start, (member + ",").into_bytes())),
        None => drop(out.splice(out.len() - 1..out.len() - 1, format!(",{member}").into_bytes())),
    }
    Ok((out, digest))
}

impl Writer {
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
    fn open_variant(&mut self, tag: &str) {
        self.out.push(b'{');
        text::string(&mut self.out, tag);
        self.out.push(b':');
    }

    /// Begins a member of an object, up to its colon.
    fn member(&mut self, key: Cow<'static, str>, is_first: bool) {
        if !is_first {
            self.out.push(b',');
        }
        let start = self.out.len();
        text::string(&mut self.out, &key);
        self.out.push(b':');
        self.members.push(Member { key, start });
    }

    /// Ends the object whose members are those from `base` on: puts them in the order of their keys.
    fn close(&mut self, base: usize) -> Outcome {
        if !self.members[base..].is_sorted_by(|left, right| by_utf16(&left.key, &right.key).is_lt()) {
            self.reorder(base)?;
        }
        match base {
            0 => self.outermost = mem::take(&mut self.members),
            _ => self.members.truncate(base),
        }
        Ok(())
    }

    fn reorder(&mut self, base: usize) -> Outcome {
        let Writer { out, members, scratch, .. } = self;
        let first = members[base].start;
        let mut end = out.len();
        let mut parts: Vec<(Member, Range<usize>)> = Vec::with_capacity(members.len() - base);
        for member in members.drain(base..).rev() {
            let start = member.start;
            parts.push((member, start - first..end - first));
            end = start - 1;
        }
        parts.sort_by(|(left, _), (right, _)| by_utf16(&left.key, &right.key));
        if let Some(pair) = parts.windows(2).find(|pair| pair[0].0.key == pair[1].0.key) {
            let key = pair[0].0.key.to_string();
            return Err(CanonicalError::from(Problem::DuplicateKey(key.clone())).inside(key));
        }
        scratch.clear();
        scratch.extend_from_slice(&out[first..]);
        out.truncate(first);
        for (member, range) in parts {
            if out.len() > first {
                out.push(b',');
            }
            members.push(Member { start: out.len(), ..member });
            out.extend_from_slice(&scratch[range]);
        }
        Ok(())
    }
}

/// The order of keys: that of their UTF-16 (RFC 8785 §3.2.3), of which ASCII needs no decoding.
fn by_utf16(left: &str, right: &str) -> Ordering {
    match left.is_ascii() && right.is_ascii() {
        true => left.cmp(right),
        false => left.encode_utf16().cmp(right.encode_utf16()),
    }
}

/// Methods for integers.
macro_rules! integers {
    ($($method:ident($type:ty))+) => {
        $(fn $method(self, value: $type) -> Outcome { self.integer(value) })+
    };
}

impl<'a> Serializer for &'a mut Writer {
    type Ok = ();
    type Error = CanonicalError;
    type SerializeSeq = Array<'a>;
    type SerializeTuple = Array<'a>;
    type SerializeTupleStruct = Array<'a>;
    type SerializeTupleVariant = Array<'a>;
    type SerializeMap = Object<'a>;
    type SerializeStruct = Object<'a>;
    type SerializeStructVariant = Object<'a>;

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
        text::number(&mut self.out, value);
        Ok(())
    }

    fn serialize_char(self, value: char) -> Outcome {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Outcome {
        text::string(&mut self.out, value);
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

    fn serialize_seq(self, _: Option<usize>) -> Outcome<Array<'a>> {
        Ok(Array::new(self, None))
    }

    fn serialize_tuple(self, _: usize) -> Outcome<Array<'a>> {
        Ok(Array::new(self, None))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Outcome<Array<'a>> {
        Ok(Array::new(self, None))
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, tag: &'static str, _: usize) -> Outcome<Array<'a>> {
        Ok(Array::new(self, Some(tag)))
    }

    fn serialize_map(self, _: Option<usize>) -> Outcome<Object<'a>> {
        Ok(Object::new(self, None))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Outcome<Object<'a>> {
        if name == RAW { Err(Problem::Raw.into()) } else { Ok(Object::new(self, None)) }
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, tag: &'static str, _: usize) -> Outcome<Object<'a>> {
        Ok(Object::new(self, Some(tag)))
    }
}

/// An array, in an object under `tag` if it is a variant's.
pub(super) struct Array<'a> {
    writer: &'a mut Writer,
    tag: Option<&'static str>,
    next: usize,
}

impl<'a> Array<'a> {
    fn new(writer: &'a mut Writer, tag: Option<&'static str>) -> Self {
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
pub(super) struct Object<'a> {
    writer: &'a mut Writer,
    tag: Option<&'static str>,
    /// How many members other open objects have.
    base: usize,
    /// A map's key whose value comes next.
    key: String,
}

impl<'a> Object<'a> {
    fn new(writer: &'a mut Writer, tag: Option<&'static str>) -> Self {
        if let Some(tag) = tag {
            writer.open_variant(tag);
        }
        writer.out.push(b'{');
        let base = writer.members.len();
        Object { writer, tag, base, key: String::new() }
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Outcome {
        self.writer.member(Cow::Borrowed(key), self.writer.members.len() == self.base);
        value.serialize(&mut *self.writer).map_err(|error| tagged(error.inside(key), self.tag))
    }

    fn finish(self) -> Outcome {
        self.writer.close(self.base).map_err(|error| tagged(error, self.tag))?;
        self.writer.literal(if self.tag.is_some() { "}}" } else { "}" });
        Ok(())
    }
}

fn tagged(error: CanonicalError, tag: Option<&'static str>) -> CanonicalError {
    match tag {
        Some(tag) => error.inside(tag),
        None => error,
    }
}

impl ser::SerializeMap for Object<'_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Outcome {
        // Only what is a string as it stands: serde_json would quietly write the digits of a number.
        let Ok(Value::String(key)) = serde_json::to_value(key) else { return Err(Problem::KeyNotString.into()) };
        self.key = key;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        self.writer.member(Cow::Owned(self.key.clone()), self.writer.members.len() == self.base);
        value.serialize(&mut *self.writer).map_err(|error| error.inside(&self.key))
    }

    fn end(self) -> Outcome {
        self.finish()
    }
}

/// The other compound traits, which differ only in name.
macro_rules! compound {
    ($($name:ident for $type:ty: $method:ident($($key:ident)?) = $inner:ident;)+) => {$(
        impl ser::$name for $type {
            type Ok = ();
            type Error = CanonicalError;

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
    SerializeSeq for Array<'_>: serialize_element() = element;
    SerializeTuple for Array<'_>: serialize_element() = element;
    SerializeTupleStruct for Array<'_>: serialize_field() = element;
    SerializeTupleVariant for Array<'_>: serialize_field() = element;
    SerializeStruct for Object<'_>: serialize_field(key) = field;
    SerializeStructVariant for Object<'_>: serialize_field(key) = field;
}

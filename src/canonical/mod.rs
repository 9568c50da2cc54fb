//! Canonical bytes (RFC 8785) and their SHA-256.
//!
//! Invariant: equal values have equal bytes and nothing is lost on the way. RFC 8785 knows only binary64, and for a value
//! that it cannot hold (NaN, an integer above 2^53, two equal keys) a writer may put `null`, round, or drop; here each of
//! these is refused ([`CanonicalError`]).

mod count;
mod digest;
mod error;
mod finite;
mod order;
mod text;
mod writer;

pub use self::count::{Count, UnsafeCount};
pub use self::digest::{Digest, Hasher, NotADigest};
pub use self::error::{CanonicalError, Problem};
pub use self::finite::{Finite, NotFinite};
pub use self::text::{integer, number, string};

use self::order::{AsDeclared, Sorted};
use self::writer::Writer;

/// The RFC 8785 bytes of `value`.
///
/// A real of 1e17, say, is written without exponent or fraction, so a `serde_json::Value` read back from canonical
/// bytes may hold it as an integer and is then refused. Read into types whose reals are [`Finite`].
///
/// # Errors
///
/// If the value holds, at any depth, what canonical JSON cannot: see [`Problem`]. The error's pointer says where.
pub fn to_vec<T: serde::Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    let mut out = Vec::new();
    value.serialize(&mut Writer { out: &mut out, order: Sorted::default() })?;
    Ok(out)
}

/// The SHA-256 of the RFC 8785 bytes of `value`.
///
/// # Errors
///
/// As [`to_vec`].
pub fn digest<T: serde::Serialize + ?Sized>(value: &T) -> Result<Digest, CanonicalError> {
    Ok(Digest::of(&to_vec(value)?))
}

/// The RFC 8785 bytes of an object with one member more: under `key` the SHA-256 of its bytes without that member, which
/// is given too. An object that has `key` already would have it twice.
///
/// # Errors
///
/// As [`to_vec`].
///
/// # Panics
///
/// If the value is no object or has no member.
pub(crate) fn seal<T: serde::Serialize + ?Sized>(
    object: &T,
    key: &'static str,
) -> Result<(Vec<u8>, Digest), CanonicalError> {
    let mut out = Vec::new();
    let mut writer = Writer { out: &mut out, order: Sorted::default() };
    object.serialize(&mut writer)?;
    let next = writer.order.place_of(key);
    let digest = Digest::of(&out);
    let member = format!("\"{key}\":\"{digest}\"");
    match next {
        Some(at) => drop(out.splice(at..at, (member + ",").into_bytes())),
        None => drop(out.splice(out.len() - 1..out.len() - 1, format!(",{member}").into_bytes())),
    }
    Ok((out, digest))
}

/// Appends the RFC 8785 bytes of a value whose fields are, at every depth, declared in the order of their keys: they go
/// out as they come, without a look at their order. What may have failed halfway is appended too.
///
/// # Errors
///
/// As [`to_vec`].
pub(crate) fn append_as_declared<T: serde::Serialize + ?Sized>(
    value: &T,
    out: &mut Vec<u8>,
) -> Result<(), CanonicalError> {
    Ok(value.serialize(&mut Writer { out, order: AsDeclared })?)
}

#[cfg(test)]
mod tests;

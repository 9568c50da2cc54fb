//! SHA-256 digests, and the writer that makes them.
//!
//! Invariant: a digest has one text, 64 lower-case hexadecimal digits; no other is read.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// A text that is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a SHA-256 digest of 64 lower-case hexadecimal digits")]
pub struct NotADigest;

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Digest {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(NotADigest),
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return Err(NotADigest);
        }
        let mut bytes = [0; 32];
        for (byte, &[high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(high)? << 4 | digit(low)?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Hex;

        impl Visitor<'_> for Hex {
            type Value = Digest;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a SHA-256 digest of 64 lower-case hexadecimal digits")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Digest, E> {
                text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_str(Hex)
    }
}

/// Inline, so that who walks a schema finds `x-kind` where the value stands.
impl JsonSchema for Digest {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9a-f]{64}$", "x-kind": "digest" })
    }
}

/// Digests what is written to it.
///
/// ```
/// use std::io::Write;
///
/// let mut hasher = receipt::canonical::Hasher::new();
/// hasher.write_all(b"abc")?;
/// assert!(hasher.finish().to_string().starts_with("ba7816bf"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// One that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes `bytes` in, as writing them does, but cannot fail.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of everything taken in.
    #[must_use]
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// FIPS 180-4's example: SHA-256 of "abc".
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn the_standard_example_whole_and_in_pieces() {
        assert_eq!(Digest::of(b"abc").to_string(), ABC);
        let mut hasher = Hasher::new();
        hasher.write_all(b"a").expect("a hasher takes everything");
        hasher.update(b"bc");
        assert_eq!(hasher.finish(), Digest::of(b"abc"));
        assert!(Hasher::new().finish().to_string().starts_with("e3b0c44298fc1c14"));
    }

    #[test]
    fn one_text_is_read_and_written() {
        let digest: Digest = ABC.parse().expect("a digest");
        assert_eq!(digest, Digest::of(b"abc"));
        assert_eq!(digest.as_bytes()[..3], [0xba, 0x78, 0x16]);
        assert_eq!(serde_json::to_value(digest).expect("a string"), ABC);
        assert_eq!(serde_json::from_value::<Digest>(ABC.into()).expect("a digest"), digest);
        let spoiled = |at: usize, byte: &str| format!("{}{byte}{}", &ABC[..at], &ABC[at + 1..]);
        for bad in
            [spoiled(0, "B"), spoiled(63, "g"), spoiled(5, ":"), spoiled(5, "`"), spoiled(7, "/"), spoiled(3, "é")]
        {
            assert_eq!(bad.parse::<Digest>(), Err(NotADigest), "{bad}");
        }
        for bad in ["", &ABC[..62], &ABC[..63], &format!("{ABC}0"), &format!("{ABC}00"), &ABC.to_uppercase()] {
            assert_eq!(bad.parse::<Digest>(), Err(NotADigest), "{bad}");
            assert!(serde_json::from_value::<Digest>((*bad).into()).is_err());
        }
    }

    #[test]
    fn the_schema_names_kind_and_pattern() {
        let schema = schemars::schema_for!(Digest);
        let schema = schema.as_value();
        assert_eq!((&schema["pattern"], &schema["x-kind"]), (&"^[0-9a-f]{64}$".into(), &"digest".into()));
    }
}

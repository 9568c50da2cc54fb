//! What a derive does not refuse: arrays in place of objects, objects in place of words, `null` for a field that is
//! optional, and the same key twice in a map.
//!
//! Invariant kept by all wire types: what serde accepts is what the JSON Schema allows; `tests/it/reader_strict.rs`
//! tries both on the same documents.
use serde::Deserialize;
use serde::de::Deserializer;
use serde::de::Error;
use serde::de::IntoDeserializer;
use serde::de::MapAccess;
use serde::de::SeqAccess;
use serde::de::Visitor;
use serde::forward_to_deserialize_any;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;

/// Reads an optional field that is there: unlike serde's own reading of an `Option`, `null` is refused.
pub(super) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Offers nothing but an object: a derived struct would take an array of its fields' values as well.
pub(super) struct ObjectOnly<D>(pub(super) D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for ObjectOnly<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Reads and writes the types, whose derives are `remote` ones, as objects and nothing else.
macro_rules! objects {
    ($($name:ident),+ $(,)?) => {$(
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$name>::deserialize($crate::manifest::strict::ObjectOnly(deserializer))
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                <$name>::serialize(self, serializer)
            }
        }
    )+};
}

/// An enum of plain words. A derived reader would take `{"word":null}` as well.
macro_rules! words {
    (
        $(#[$meta:meta])*
        $name:ident { $($(#[doc = $doc:literal])* $variant:ident = $word:literal),+ $(,)? }
    ) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ::serde::Serialize, ::schemars::JsonSchema)]
        $(#[$meta])*
        pub enum $name { $($(#[doc = $doc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every value, in the order of the format's table.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// The word that stands for it in a manifest.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Word;

                impl ::serde::de::Visitor<'_> for Word {
                    type Value = $name;

                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str(concat!("one of" $(, " `", $word, "`")+))
                    }

                    fn visit_str<E: ::serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        match text {
                            $($word => Ok($name::$variant),)+
                            _ => Err(E::invalid_value(::serde::de::Unexpected::Str(text), &self)),
                        }
                    }
                }
                deserializer.deserialize_str(Word)
            }
        }
    };
}

/// Reads a derived enum of plain words from a string, and from nothing else.
pub(super) fn word<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Word<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Word<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a word")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            T::deserialize(text.into_deserializer())
        }
    }
    deserializer.deserialize_str(Word(PhantomData))
}

/// As [`word`], for an optional field that is there.
pub(super) fn present_word<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    word(deserializer).map(Some)
}

/// Reads a set whose elements are listed once each.
pub(super) fn set<'de, T, D>(deserializer: D) -> Result<BTreeSet<T>, D::Error>
where
    T: Deserialize<'de> + Ord,
    D: Deserializer<'de>,
{
    struct Elements<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de> + Ord> Visitor<'de> for Elements<T> {
        type Value = BTreeSet<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list in which nothing is repeated")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<BTreeSet<T>, A::Error> {
            let mut set = BTreeSet::new();
            while let Some(element) = elements.next_element()? {
                if !set.insert(element) {
                    return Err(A::Error::custom("the same twice in one list"));
                }
            }
            Ok(set)
        }
    }
    deserializer.deserialize_seq(Elements(PhantomData))
}

/// Reads a map whose keys are there once each; serde's own reading keeps the last of two.
pub(super) fn map<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
where
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    struct Members<K, V>(PhantomData<(K, V)>);

    impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Visitor<'de> for Members<K, V> {
        type Value = BTreeMap<K, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<BTreeMap<K, V>, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((key, value)) = members.next_entry()? {
                if map.insert(key, value).is_some() {
                    return Err(A::Error::custom("the same key twice in one object"));
                }
            }
            Ok(map)
        }
    }
    deserializer.deserialize_map(Members(PhantomData))
}

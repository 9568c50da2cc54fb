//! The two documents: a microbatch manifest's header, and the rank manifest (MANIFEST.md §2).
use crate::canonical::Count;
use crate::canonical::Digest;
use crate::manifest::contract::Contract;
use crate::manifest::event::Event;
use crate::manifest::limits::RANKS;
use crate::manifest::list::List;
use crate::manifest::replay::ReplayOptions;
use crate::manifest::resume::Resume;
use crate::manifest::strict::ObjectOnly;
use crate::manifest::strict::present;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::de::Error;
use serde::de::MapAccess;
use serde::de::Visitor;
use std::fmt;
use std::marker::PhantomData;

/// `schema` of a microbatch manifest.
pub const MICROBATCH_SCHEMA: &str = "accumulation/microbatch-manifest/1";
/// `schema` of a rank manifest.
pub const RANK_SCHEMA: &str = "accumulation/rank-manifest/1";

words! {
    /// The name and version of the microbatch manifest.
    #[schemars(extend("x-kind" = "version"))]
    MicrobatchSchema {
        /// Version 1.
        V1 = "accumulation/microbatch-manifest/1",
    }
}
words! {
    /// The name and version of the rank manifest.
    #[schemars(extend("x-kind" = "version"))]
    RankSchema {
        /// Version 1.
        V1 = "accumulation/rank-manifest/1",
    }
}

/// Line 1 of a microbatch manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Header", deny_unknown_fields)]
pub struct Header {
    /// For editors; ignored.
    #[serde(rename = "$schema", default, skip_serializing, deserialize_with = "present")]
    pub editor_schema: Option<String>,
    /// The contract, unless a rank manifest supplies it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub contract: Option<Contract>,
    /// The rank whose events follow.
    pub rank: Count,
    /// Name and version.
    pub schema: MicrobatchSchema,
}

/// The run as one document; `E` is an event, typed or as raw text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "RankManifest", deny_unknown_fields)]
pub struct RankManifest<E = Event> {
    /// For editors; ignored.
    #[serde(rename = "$schema", default, skip_serializing, deserialize_with = "present")]
    pub editor_schema: Option<String>,
    /// What was declared.
    pub contract: Contract,
    /// Each rank, inline or by reference, in any order.
    pub ranks: List<RankEntry<E>, { RANKS as usize }>,
    /// How to replay.
    #[serde(default)]
    pub replay: ReplayOptions,
    /// The carried window that this run continues.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub resume: Option<Resume>,
    /// Name and version.
    pub schema: RankSchema,
}

/// One rank of a rank manifest.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RankEntry<E = Event> {
    /// The events themselves.
    Inline(InlineRank<E>),
    /// The file that holds them.
    Reference(ReferencedRank),
}

/// A rank's events in the rank manifest.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct InlineRank<E = Event> {
    /// The events, in order.
    pub events: Vec<E>,
    /// The rank.
    pub rank: Count,
}

/// A rank's microbatch manifest, by name and hash.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReferencedRank {
    /// Path below the rank manifest's own folder.
    pub microbatch_manifest: String,
    /// The rank.
    pub rank: Count,
    /// Of the file's bytes, as stored.
    pub sha256: Digest,
}

objects!(Header);

impl<'de, E: Deserialize<'de>> Deserialize<'de> for RankManifest<E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RankManifest::deserialize(ObjectOnly(deserializer))
    }
}

impl<E: Serialize> Serialize for RankManifest<E> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RankManifest::serialize(self, serializer)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum EntryKey {
    Rank,
    Events,
    MicrobatchManifest,
    Sha256,
}

/// Written out because a derived reader of untagged enums copies what it reads, and raw text can't be copied so.
impl<'de, E: Deserialize<'de>> Deserialize<'de> for RankEntry<E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntryVisitor(PhantomData))
    }
}

struct EntryVisitor<E>(PhantomData<E>);

impl<'de, E: Deserialize<'de>> Visitor<'de> for EntryVisitor<E> {
    type Value = RankEntry<E>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a rank with its events, or with its microbatch manifest and that file's sha256")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RankEntry<E>, A::Error> {
        let (mut rank, mut events, mut microbatch_manifest, mut sha256) = (None, None, None, None);
        while let Some(key) = map.next_key()? {
            match key {
                EntryKey::Rank => once(&mut rank, &mut map, "rank")?,
                EntryKey::Events => once(&mut events, &mut map, "events")?,
                EntryKey::MicrobatchManifest => once(&mut microbatch_manifest, &mut map, "microbatch_manifest")?,
                EntryKey::Sha256 => once(&mut sha256, &mut map, "sha256")?,
            }
        }
        let rank = rank.ok_or_else(|| A::Error::missing_field("rank"))?;
        match (events, microbatch_manifest, sha256) {
            (Some(events), None, None) => Ok(RankEntry::Inline(InlineRank { events, rank })),
            (None, Some(microbatch_manifest), Some(sha256)) => {
                Ok(RankEntry::Reference(ReferencedRank { microbatch_manifest, rank, sha256 }))
            }
            _ => Err(A::Error::custom("neither `events` alone nor `microbatch_manifest` and `sha256`")),
        }
    }
}

fn once<'de, T, A>(slot: &mut Option<T>, map: &mut A, name: &'static str) -> Result<(), A::Error>
where
    T: Deserialize<'de>,
    A: MapAccess<'de>,
{
    match slot.replace(map.next_value()?) {
        None => Ok(()),
        Some(_) => Err(A::Error::duplicate_field(name)),
    }
}

//! How a run is to be replayed.
use crate::canonical::Count;
use crate::canonical::Finite;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::de::Error;
use serde::de::MapAccess;
use serde::de::Unexpected;
use serde::de::Visitor;
use std::fmt;
use std::str::FromStr;

/// How to replay (DESIGN.md §5). Every field has a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "ReplayOptions", deny_unknown_fields, default)]
pub struct ReplayOptions {
    /// Decoder blocks.
    pub blocks: Count,
    /// Positions of a row.
    pub context: Count,
    /// Dropout probability.
    pub dropout: Finite,
    /// Width of the feed-forward layer.
    pub feed_forward: Count,
    /// Attention heads.
    pub heads: Count,
    /// What is recomputed in backward.
    pub recompute: Recompute,
    /// Of the model and the synthetic rows.
    pub seed: Count,
    /// Tokens.
    pub vocabulary: Count,
    /// Width of the residual stream.
    pub width: Count,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        ReplayOptions {
            blocks: Count::from(3),
            context: Count::from(8),
            dropout: Finite::ZERO,
            feed_forward: Count::from(8),
            heads: Count::from(1),
            recompute: Recompute::None,
            seed: Count::from(39),
            vocabulary: Count::from(266),
            width: Count::from(4),
        }
    }
}

/// What the replay recomputes in backward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Recompute {
    /// Nothing.
    None,
    /// Every block.
    Blocks,
    /// Blocks of k steps.
    Every(Count),
    /// The binomial optimum with s snapshots.
    Snapshots(Count),
}

/// A way to recompute that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is none of `none`, `blocks`, `every=k` and `snapshots=s` with a count from 1")]
pub struct UnknownRecompute(pub String);

/// As the command line has it.
impl FromStr for Recompute {
    type Err = UnknownRecompute;

    fn from_str(text: &str) -> Result<Self, UnknownRecompute> {
        let count = |digits: &str| {
            let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            let count = digits.parse().ok().filter(|&count: &u64| is_plain && count > 0)?;
            Count::new(count).ok()
        };
        let read = match text.split_once('=') {
            None if text == "none" => Some(Recompute::None),
            None if text == "blocks" => Some(Recompute::Blocks),
            Some(("every", blocks)) => count(blocks).map(Recompute::Every),
            Some(("snapshots", snapshots)) => count(snapshots).map(Recompute::Snapshots),
            _ => None,
        };
        read.ok_or_else(|| UnknownRecompute(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Recompute {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordOrObject;

        impl<'de> Visitor<'de> for WordOrObject {
            type Value = Recompute;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`none`, `blocks`, or an object with `every` or `snapshots`")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Recompute, E> {
                match text {
                    "none" => Ok(Recompute::None),
                    "blocks" => Ok(Recompute::Blocks),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Recompute, A::Error> {
                let entry = map.next_entry::<String, Count>()?;
                if map.next_key::<String>()?.is_some() {
                    return Err(A::Error::custom("recompute said twice"));
                }
                match entry {
                    Some((key, steps)) if key == "every" => Ok(Recompute::Every(steps)),
                    Some((key, snapshots)) if key == "snapshots" => Ok(Recompute::Snapshots(snapshots)),
                    _ => Err(A::Error::invalid_type(Unexpected::Map, &self)),
                }
            }
        }
        deserializer.deserialize_any(WordOrObject)
    }
}

objects!(ReplayOptions);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_command_line_has_it() {
        let count = Count::from;
        let read = |text: &str| text.parse::<Recompute>().ok();
        assert_eq!(read("none"), Some(Recompute::None));
        assert_eq!(read("blocks"), Some(Recompute::Blocks));
        assert_eq!(read("every=2"), Some(Recompute::Every(count(2))));
        assert_eq!(read("snapshots=3"), Some(Recompute::Snapshots(count(3))));
        for wrong in ["", "every", "every=", "every=0", "every=+2", "every=2.0", "snapshots=-1", "blocks=2", "all"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}

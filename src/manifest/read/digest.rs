//! What a run's input is, as a hash: independent of the shape in which it came.
use crate::canonical::CanonicalError;
use crate::canonical::Digest;
use crate::canonical::digest;
use crate::manifest::contract::Contract;
use crate::manifest::read::RankDigest;
use crate::manifest::read::ReadError;
use crate::manifest::replay::ReplayOptions;
use crate::manifest::resume::Resume;
use crate::manifest::source::SourceName;
use crate::manifest::source::Sources;
use crate::manifest::source::stored::Stored;
use serde::Serialize;

#[derive(Serialize)]
struct Input<'a> {
    contract: &'a Contract,
    ranks: &'a [RankDigest],
    replay: &'a ReplayOptions,
    resume: Option<&'a Resume>,
}

/// The hash of a run that was read: of the canonical bytes of `{contract, ranks, replay, resume}`, where a rank is
/// `{rank, events, events_sha256}` and `resume` is null where there is none.
///
/// # Errors
///
/// If anything in it is not canonical, which what was read always is.
pub fn input_sha256(
    contract: &Contract,
    resume: Option<&Resume>,
    replay: &ReplayOptions,
    ranks: &[RankDigest],
) -> Result<Digest, CanonicalError> {
    digest(&Input { contract, ranks, replay, resume })
}

/// The hash of input that was rejected, as stored: of one file its own; of several, of theirs in hexadecimal, each
/// followed by a newline, in ascending order, so that the order on the command line doesn't matter.
///
/// # Errors
///
/// If an input can't be read any more.
pub fn raw_sha256(sources: &dyn Sources, inputs: &[SourceName]) -> Result<Digest, ReadError> {
    let mut digests = Vec::new();
    for name in inputs {
        let failed = |source| ReadError::Source { name: name.clone(), source };
        let stored = Stored::open(sources, name, true).map_err(failed)?;
        let digest = stored.digest().map_err(|error| failed(error.into()))?;
        digests.extend(digest);
    }
    if let [only] = digests[..] {
        return Ok(only);
    }
    digests.sort();
    let list: String = digests.iter().map(|digest| format!("{digest}\n")).collect();
    Ok(Digest::of(list.as_bytes()))
}

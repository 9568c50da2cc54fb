//! Opening a run: what is named on the command line to a contract and a stream per rank.
//!
//! Invariant: whatever its shape (inline, by reference, as several files, compressed), the same run opens the same.
mod agree;
pub(crate) mod document;
pub(crate) mod header;
mod microbatches;
mod rank_manifest;
mod ranks;
mod sniff;

use crate::finding::Findings;
use crate::manifest::contract::Contract;
use crate::manifest::layout::Layout;
use crate::manifest::limits::OPEN_FILES;
use crate::manifest::read::RankStream;
use crate::manifest::read::ReadError;
use crate::manifest::read::lines::Lines;
use crate::manifest::read::pool::width;
use crate::manifest::read::stream::Pace;
use crate::manifest::replay::ReplayOptions;
use crate::manifest::resume::Resume;
use crate::manifest::source::SourceName;
use crate::manifest::source::Sources;
use crate::manifest::source::stored::Stored;
use std::collections::BTreeSet;

/// A run that can be read.
#[derive(Debug)]
pub struct Opened {
    /// What was declared, with defaults; `None` where it could not be read or is impossible, which has been reported.
    pub contract: Option<Contract>,
    /// How to replay.
    pub replay: ReplayOptions,
    /// The carried window that this run continues.
    pub resume: Option<Resume>,
    /// One per rank, in order of rank. They have to be drained also where the contract is of no use: their faults
    /// are wanted.
    pub streams: Vec<RankStream>,
    /// What has been found wrong so far.
    pub findings: Findings,
    /// Where everything stands.
    pub layout: Layout,
}

/// Opens the run that is in a rank manifest, or in all the microbatch manifests of its ranks.
///
/// With `partial`, a last line that is torn is only warned of.
///
/// # Errors
///
/// If what is named can't be read at all. What is wrong *in* it is among the findings.
pub fn open_run(sources: &dyn Sources, inputs: &[SourceName], partial: bool) -> Result<Opened, ReadError> {
    open(sources, inputs, partial, false)
}

/// The same; with `hashed`, each named file's digest can be had of its stream at the end.
pub(super) fn open(
    sources: &dyn Sources,
    inputs: &[SourceName],
    partial: bool,
    hashed: bool,
) -> Result<Opened, ReadError> {
    let mut seen = BTreeSet::new();
    if let Some(twice) = inputs.iter().find(|name| !seen.insert(*name)) {
        return Err(ReadError::Twice(twice.clone()));
    }
    if inputs.is_empty() {
        return Err(ReadError::Nothing);
    }
    if inputs.len() > OPEN_FILES {
        return Ok(microbatches::too_many(inputs.len()));
    }
    let mut opened = Vec::new();
    for name in inputs {
        let failed = |source| ReadError::Source { name: name.clone(), source };
        let mut lines = Lines::new(Stored::open(sources, name, hashed).map_err(failed)?);
        match sniff::kind(&mut lines) {
            sniff::Kind::Ranks | sniff::Kind::Unknown if inputs.len() == 1 => {
                return rank_manifest::open(sources, name, lines, partial);
            }
            sniff::Kind::Ranks => return Err(ReadError::NotAlone(name.clone())),
            sniff::Kind::Microbatches | sniff::Kind::Unknown => opened.push((name.clone(), lines)),
        }
    }
    microbatches::open(opened, partial)
}

/// Bytes of text that may wait for being consumed, over all ranks.
const READ_AHEAD: usize = 64 << 20;

/// How far to read ahead on each of so many ranks.
fn pace(streams: usize) -> Pace {
    let ahead = if streams <= 16 { 4 * width() } else { 1 };
    let block = (READ_AHEAD / (streams.max(1) * (ahead + 1))).clamp(1 << 12, 1 << 18);
    Pace { ahead, block }
}

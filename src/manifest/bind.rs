//! Binding: the rank manifest that references the microbatch manifests of a run by their hashes.
//!
//! Invariant: what is hashed is what was read, in one pass, and nothing that a reader refuses is bound.
use crate::canonical::Count;
use crate::manifest::contract::Contract;
use crate::manifest::document::RankSchema;
use crate::manifest::document::ReferencedRank;
use crate::manifest::layout::Origin;
use crate::manifest::open;
use crate::manifest::read::ReadError;
use crate::manifest::source::SourceName;
use crate::manifest::source::Sources;
use crate::manifest::source::check_reference;
use serde::Serialize;
use std::collections::BTreeSet;

/// A microbatch manifest that is to be bound.
#[derive(Clone, Debug)]
pub struct Member {
    /// Where it is read.
    pub name: SourceName,
    /// Its path below the rank manifest's folder, as [`check_reference`] allows it.
    pub reference: String,
}

/// A rank manifest that holds no events itself. The schema stands first: by it a file is known.
#[derive(Clone, Debug, Serialize)]
pub struct Bound {
    schema: RankSchema,
    contract: Contract,
    ranks: Vec<ReferencedRank>,
}

/// Binds the run whose ranks are in these files; `None` where reading them finds a fault that rejects the run, which
/// whoever verifies the same files is told. With `partial`, a torn last line is none.
///
/// # Errors
///
/// If a file can't be read at all, is there twice, or is a rank manifest itself.
pub fn bind(sources: &dyn Sources, members: &[Member], partial: bool) -> Result<Option<Bound>, ReadError> {
    let mut seen = BTreeSet::new();
    if let Some(twice) = members.iter().find(|member| !seen.insert(&member.reference)) {
        return Err(ReadError::Twice(twice.name.clone()));
    }
    let names: Vec<SourceName> = members.iter().map(|member| member.name.clone()).collect();
    let opened = open::open(sources, &names, partial, true)?;
    let (layout, mut findings) = (opened.layout, opened.findings);
    if let Some(document) = layout.document.filter(|_| !findings.rejects()) {
        return Err(ReadError::NotAlone(document));
    }
    let mut read = Vec::new();
    for mut stream in opened.streams {
        while stream.next(&mut findings).is_some() {}
        let stored = stream.stored();
        read.push((stream.digest()?.rank, stored));
    }
    let Some(contract) = opened.contract.filter(|_| !findings.rejects()) else { return Ok(None) };
    let ranks = read.into_iter().map(|(rank, stored)| {
        let Some(Origin::Lines(name)) = layout.ranks.get(&rank) else { panic!("bug: rank {rank} has no file") };
        let member = members.iter().find(|member| member.name == *name).expect("bug: a file that was not named");
        assert_eq!(check_reference(&member.reference), Ok(()), "bug: a reference that no reader takes");
        ReferencedRank {
            microbatch_manifest: member.reference.clone(),
            rank: Count::new(rank).expect("bug: a rank beyond the limit"),
            sha256: stored.expect("bug: a file that was read to its end has no digest"),
        }
    });
    Ok(Some(Bound { schema: RankSchema::V1, contract, ranks: ranks.collect() }))
}

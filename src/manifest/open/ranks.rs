//! The set of ranks: each of 0 .. world_size once.
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Place;
use crate::manifest::limits::RANKS;
use std::collections::BTreeSet;

/// Gives each claimant a rank of its own: the one that it claims, or else the lowest that nobody does.
///
/// So the faults of a file whose header can't be read, or whose rank another has as well, have a place.
pub(super) fn assign(claims: &[Option<u64>]) -> Vec<u64> {
    let claimed: BTreeSet<u64> = claims.iter().flatten().copied().collect();
    let mut given = BTreeSet::new();
    let mut free = (0..).filter(|rank| !claimed.contains(rank));
    let mut own = |claim: &Option<u64>| claim.filter(|&rank| given.insert(rank));
    claims.iter().map(|claim| own(claim).or_else(|| free.next()).expect("bug: no number is left")).collect()
}

/// A claim to a rank, and where it stands.
pub(super) struct Claim {
    pub(super) rank: Option<u64>,
    pub(super) place: Place,
}

/// Reports ranks that are outside or there twice, and where all claims are known, those that are missing.
pub(super) fn check(claims: &[Claim], world_size: Option<u64>, are_all: bool, findings: &mut Findings) {
    // An impossible size has been told as such.
    let world_size = world_size.filter(|size| (1..=RANKS).contains(size));
    let mut seen = BTreeSet::new();
    for Claim { rank, place } in claims {
        let Some(rank) = *rank else { continue };
        if let Some(size) = world_size.filter(|&size| rank >= size) {
            let message = format!("rank {rank}, where world_size is {size}");
            findings.report(Finding::new(Code::GA110, place.clone(), message));
        } else if !seen.insert(rank) {
            findings.report(Finding::new(Code::GA110, place.clone(), format!("rank {rank} is there twice")));
        }
    }
    let is_known = are_all && claims.iter().all(|claim| claim.rank.is_some());
    if let Some(size) = world_size.filter(|_| is_known) {
        missing(&seen, size, findings);
    }
}

/// One finding for all of them.
fn missing(seen: &BTreeSet<u64>, size: u64, findings: &mut Findings) {
    let there = seen.len() as u64;
    if there >= size {
        return;
    }
    let first: Vec<String> = (0..size).filter(|rank| !seen.contains(rank)).take(8).map(|r| r.to_string()).collect();
    let count = size - there;
    let more = if count > first.len() as u64 { ", …" } else { "" };
    let (noun, verb) = if count == 1 { ("rank", "is") } else { ("ranks", "are") };
    let message = format!("{noun} {}{more} of {size} {verb} missing", first.join(", "));
    findings.report(Finding::new(Code::GA110, Place::run(), message));
}

#[cfg(test)]
mod tests {
    use super::assign;

    #[test]
    fn every_claimant_gets_a_rank_of_its_own() {
        assert_eq!(assign(&[Some(1), Some(0)]), [1, 0]);
        assert_eq!(assign(&[Some(1), None, Some(1), Some(5)]), [1, 0, 2, 5]);
        assert_eq!(assign(&[]), [] as [u64; 0]);
    }
}

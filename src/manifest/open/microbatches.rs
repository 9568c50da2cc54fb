//! A run in the microbatch manifests of its ranks.
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Place;
use crate::manifest::contract::Contract;
use crate::manifest::explain::Fault;
use crate::manifest::impossible;
use crate::manifest::layout::Layout;
use crate::manifest::layout::Origin;
use crate::manifest::limits::OPEN_FILES;
use crate::manifest::open::Opened;
use crate::manifest::open::agree;
use crate::manifest::open::header;
use crate::manifest::open::header::HeaderRead;
use crate::manifest::open::pace;
use crate::manifest::open::ranks;
use crate::manifest::read::RankStream;
use crate::manifest::read::ReadError;
use crate::manifest::read::lines::Lines;
use crate::manifest::read::pool::Pool;
use crate::manifest::read::stream::Feed;
use crate::manifest::read::terms::Terms;
use crate::manifest::replay::ReplayOptions;
use crate::manifest::source::SourceName;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One file.
struct File {
    rank: u64,
    name: SourceName,
    lines: Lines,
    header: HeaderRead,
}

/// Opens the run of these files.
pub(super) fn open(inputs: Vec<(SourceName, Lines)>, partial: bool) -> Result<Opened, ReadError> {
    let mut findings = Findings::default();
    let files = files(inputs);
    let is_alone = files.len() == 1;
    for file in &files {
        report(file, is_alone, &mut findings);
    }
    let contract = contract(&files, &mut findings);
    let world_size = contract.as_ref().map(|contract| contract.world_size.get());
    let claims: Vec<ranks::Claim> = files
        .iter()
        .map(|file| ranks::Claim { rank: file.header.rank, place: place(file, is_alone).at("/rank") })
        .collect();
    ranks::check(&claims, world_size, true, &mut findings);

    let terms = Terms::new(contract.as_ref(), partial);
    let layout = Layout::of_files(files.iter().map(|file| (file.rank, Origin::Lines(file.name.clone()))));
    let (pool, pace) = (Arc::new(Pool::default()), pace(files.len()));
    let stream = |File { rank, name, lines, header }: File| {
        let feed = match header.has_events() {
            true => Feed::Lines { lines: Some(lines), name, expected: None },
            false => Feed::Nothing,
        };
        RankStream::new(rank, feed, Arc::clone(&pool), terms, pace)
    };
    let streams = files.into_iter().map(stream).collect();
    let contract = contract.filter(|_| !findings.has(Code::GA118) && !findings.has(Code::GA115));
    let replay = ReplayOptions::default();
    Ok(Opened { contract, replay, resume: None, streams, findings, layout })
}

/// More files than can be open at once.
pub(super) fn too_many(count: usize) -> Opened {
    let mut findings = Findings::default();
    let message = format!(
        "{count} microbatch manifests, beyond the limit of {OPEN_FILES} open at once: merge some into a rank manifest"
    );
    findings.report(Finding::new(Code::GA115, Place::run(), message));
    let layout = Layout { document: None, ranks: BTreeMap::new() };
    Opened { contract: None, replay: ReplayOptions::default(), resume: None, streams: Vec::new(), findings, layout }
}

/// Reads the headers; in order of rank, whatever the order on the command line.
fn files(inputs: Vec<(SourceName, Lines)>) -> Vec<File> {
    let mut read: Vec<(SourceName, Lines, HeaderRead)> = Vec::new();
    for (name, mut lines) in inputs {
        let header = header::take(&mut lines);
        read.push((name, lines, header));
    }
    let claims: Vec<Option<u64>> = read.iter().map(|(_, _, header)| header.rank).collect();
    let ranks = ranks::assign(&claims);
    let mut files: Vec<File> =
        ranks.into_iter().zip(read).map(|(rank, (name, lines, header))| File { rank, name, lines, header }).collect();
    files.sort_by_key(|file| file.rank);
    files
}

/// Of a run that is one file, the header needs no rank to be found.
fn place(file: &File, is_alone: bool) -> Place {
    Place { rank: (!is_alone).then_some(file.rank), ..Place::default() }
}

fn report(file: &File, is_alone: bool, findings: &mut Findings) {
    for fault in &file.header.faults {
        findings.report(fault.clone().at(place(file, is_alone)));
    }
    if file.header.lacks_contract {
        let message = "the header has no contract, and no rank manifest supplies one";
        findings.report(Finding::new(Code::GA116, place(file, is_alone), message));
    }
}

/// The contract of the lowest rank that has one, with which all others have to agree.
fn contract(files: &[File], findings: &mut Findings) -> Option<Contract> {
    let mut all = files.iter().filter_map(|file| Some((file, file.header.contract.clone()?.with_defaults())));
    let (_, first) = all.next()?;
    for (file, other) in all {
        if let Some((pointer, message)) = agree::difference(&first, &other) {
            findings.report(Fault::new(Code::GA117, pointer, message, 0..0).at(place(file, false)));
        }
    }
    for fault in impossible::contract(&first) {
        findings.report(fault.at(Place::default()));
    }
    Some(first)
}

//! A run in a rank manifest: its ranks inline or by reference.
use crate::canonical::Digest;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Place;
use crate::manifest::contract::Contract;
use crate::manifest::explain;
use crate::manifest::explain::Fault;
use crate::manifest::explain::quote;
use crate::manifest::impossible;
use crate::manifest::layout::Layout;
use crate::manifest::layout::Origin;
use crate::manifest::limits::DOCUMENT_BYTES;
use crate::manifest::limits::OPEN_FILES;
use crate::manifest::open::Opened;
use crate::manifest::open::agree;
use crate::manifest::open::document;
use crate::manifest::open::document::DocumentRead;
use crate::manifest::open::document::Entry;
use crate::manifest::open::document::Events;
use crate::manifest::open::header;
use crate::manifest::open::pace;
use crate::manifest::open::ranks;
use crate::manifest::open::sniff;
use crate::manifest::open::sniff::BYTE_ORDER_MARK;
use crate::manifest::read::RankStream;
use crate::manifest::read::ReadError;
use crate::manifest::read::lines::Lines;
use crate::manifest::read::pool::Pool;
use crate::manifest::read::stream::Expected;
use crate::manifest::read::stream::Feed;
use crate::manifest::read::terms::Terms;
use crate::manifest::replay::ReplayOptions;
use crate::manifest::resume::Resume;
use crate::manifest::source::SourceError;
use crate::manifest::source::SourceName;
use crate::manifest::source::Sources;
use crate::manifest::source::check_reference;
use crate::manifest::source::stored::Broken;
use crate::manifest::source::stored::Stored;
use std::io::ErrorKind;
use std::sync::Arc;

/// Opens the run of this document.
pub(super) fn open(sources: &dyn Sources, name: &SourceName, lines: Lines, partial: bool) -> Result<Opened, ReadError> {
    let mut findings = Findings::default();
    let Some(text) = text(name, lines, &mut findings)? else { return Ok(nothing(name, findings)) };
    let DocumentRead { contract, replay, resume, entries, faults, is_torn } = document::read(&text);
    let contract = contract.map(Contract::with_defaults);
    // Ranks that are missing in what is no rank manifest say nothing.
    let is_another = faults.iter().any(|fault| fault.code == Code::GA102 && fault.pointer == "/schema");
    findings.extend(faults.into_iter().map(placed(&entries)));
    judge(contract.as_ref(), &replay, resume.as_ref(), &mut findings);
    let world_size = contract.as_ref().map(|contract| contract.world_size.get());
    claims(&entries, world_size, is_torn || is_another, &mut findings);

    let given = ranks::assign(&entries.iter().map(|entry| entry.rank).collect::<Vec<_>>());
    let origins = entries.iter().enumerate().map(|(index, _)| Origin::Entry(index));
    let mut layout = Layout::of_document(name.clone(), given.iter().copied().zip(origins));
    let feeds = Feeds { sources, manifest: name, contract: contract.as_ref(), document: &Arc::new(text) };
    let terms = Terms::new(contract.as_ref(), partial);
    let (pool, pace) = (Arc::new(Pool::default()), pace(entries.len()));
    let mut streams = Vec::new();
    let mut files = 0;
    for (index, (entry, rank)) in entries.into_iter().zip(given).enumerate() {
        files += usize::from(matches!(entry.events, Events::Reference { .. }));
        let feed = if files > OPEN_FILES { Feed::Nothing } else { feeds.feed(index, rank, entry, &mut findings)? };
        if let Feed::Lines { name, .. } = &feed {
            layout.ranks.insert(rank, Origin::Lines(name.clone()));
        }
        streams.push(RankStream::new(rank, feed, Arc::clone(&pool), terms, pace));
    }
    if files > OPEN_FILES {
        let message =
            format!("{files} files are referenced, beyond the limit of {OPEN_FILES} open at once: merge some");
        findings.report(Finding::new(Code::GA115, Place::document("/ranks"), message));
    }
    streams.sort_by_key(RankStream::rank);
    let contract = contract.filter(|_| !findings.has(Code::GA118) && !findings.has(Code::GA115));
    Ok(Opened { contract, replay, resume, streams, findings, layout })
}

fn nothing(name: &SourceName, findings: Findings) -> Opened {
    let layout = Layout::of_document(name.clone(), std::iter::empty());
    Opened { contract: None, replay: ReplayOptions::default(), resume: None, streams: Vec::new(), findings, layout }
}

/// The whole text, unless there is nothing to be read in it.
fn text(name: &SourceName, mut lines: Lines, findings: &mut Findings) -> Result<Option<Vec<u8>>, ReadError> {
    let fault = match lines.rest(DOCUMENT_BYTES) {
        Ok(Some(text)) => {
            if text.starts_with(BYTE_ORDER_MARK) {
                findings.report(header::byte_order_mark().at(Place::default()));
            }
            let text = document::without_mark(text);
            if !text.trim_ascii().is_empty() {
                return Ok(Some(text));
            }
            let what = if text.is_empty() { "the file is empty" } else { "the file is blank" };
            Fault::new(Code::GA101, String::new(), what, 0..0)
        }
        Ok(None) => {
            let message = format!("a rank manifest larger than the limit of {DOCUMENT_BYTES} bytes");
            Fault::new(Code::GA115, String::new(), message, 0..0)
        }
        Err(Broken::Source(error)) => {
            return Err(ReadError::Source { name: name.clone(), source: error.into() });
        }
        Err(Broken::Compression { format, error }) => explain::compression(format, &error),
    };
    findings.report(fault.at(Place::default()));
    Ok(None)
}

/// A fault in the text of an event is at that event's place.
fn placed(entries: &[Entry]) -> impl Fn(Fault) -> Finding {
    let ranks = ranks::assign(&entries.iter().map(|entry| entry.rank).collect::<Vec<_>>());
    move |fault| {
        let mut steps = fault.pointer.splitn(6, '/').skip(1);
        let path = (steps.next(), steps.next(), steps.next(), steps.next(), steps.next());
        let (Some("ranks"), Some(entry), Some("events"), Some(event), rest) = path else {
            return fault.at(Place::default());
        };
        let rank = entry.parse().ok().and_then(|entry: usize| ranks.get(entry));
        match (rank, event.parse()) {
            (Some(&rank), Ok(event)) => {
                let pointer = rest.map(|rest| format!("/{rest}")).unwrap_or_default();
                Fault { pointer, ..fault }.at(Place::event(rank, event))
            }
            _ => fault.at(Place::default()),
        }
    }
}

/// What in it can't be meant.
fn judge(contract: Option<&Contract>, replay: &ReplayOptions, resume: Option<&Resume>, findings: &mut Findings) {
    let mut faults = contract.map(impossible::contract).unwrap_or_default();
    faults.extend(impossible::replay(replay));
    if let Some(resume) = resume {
        faults.extend(impossible::resume(resume, contract));
    }
    findings.extend(faults.into_iter().map(|fault| fault.at(Place::default())));
}

fn claims(entries: &[Entry], world_size: Option<u64>, is_torn: bool, findings: &mut Findings) {
    let claim = |(index, entry): (usize, &Entry)| ranks::Claim {
        rank: entry.rank,
        place: Place::document(format!("/ranks/{index}/rank")),
    };
    let claims: Vec<ranks::Claim> = entries.iter().enumerate().map(claim).collect();
    ranks::check(&claims, world_size, !is_torn, findings);
}

/// What a rank's events are fed from.
struct Feeds<'a> {
    sources: &'a dyn Sources,
    manifest: &'a SourceName,
    contract: Option<&'a Contract>,
    document: &'a Arc<Vec<u8>>,
}

impl Feeds<'_> {
    fn feed(&self, index: usize, rank: u64, entry: Entry, findings: &mut Findings) -> Result<Feed, ReadError> {
        match entry.events {
            Events::Unknown => Ok(Feed::Nothing),
            Events::Inline(spans) => Ok(Feed::Inline { document: Arc::clone(self.document), spans, next: 0 }),
            Events::Reference { path, sha256 } => self.reference(index, rank, path, sha256, findings),
        }
    }

    fn reference(
        &self,
        index: usize,
        rank: u64,
        path: String,
        sha256: Option<Digest>,
        findings: &mut Findings,
    ) -> Result<Feed, ReadError> {
        let pointer = format!("/ranks/{index}");
        let mut broken = |message: String| {
            let place = Place::document(format!("{pointer}/microbatch_manifest"));
            findings.report(Finding::new(Code::GA116, place, message));
            Ok(Feed::Nothing)
        };
        if let Err(why) = check_reference(&path) {
            return broken(format!("the reference {} {why}", quote(&path)));
        }
        let shown = quote(&path);
        let name = SourceName::Reference { manifest: Box::new(self.manifest.clone()), path };
        let stored = match Stored::open(self.sources, &name, sha256.is_some()) {
            Ok(stored) => stored,
            Err(source @ SourceError::TooManyOpen) => return Err(ReadError::Source { name, source }),
            Err(error) => return broken(format!("{shown} cannot be read: {}", told(&error))),
        };
        let mut lines = Lines::new(stored);
        if sniff::kind(&mut lines) == sniff::Kind::Ranks {
            return broken(format!("{shown} is a rank manifest; only microbatch manifests can be referenced"));
        }
        let header = header::take(&mut lines);
        let place = Place { rank: Some(rank), ..Place::default() };
        let has_events = header.has_events();
        findings.extend(header.faults.into_iter().map(|fault| fault.at(place.clone())));
        if let Some(other) = header.rank.filter(|&other| other != rank) {
            let message = format!("the header is of rank {other}, its entry of rank {rank}");
            findings.report(Finding::new(Code::GA110, place.clone().at("/rank"), message));
        }
        let differs = |other: &Contract| agree::difference(self.contract?, other);
        if let Some((pointer, message)) = header.contract.map(Contract::with_defaults).as_ref().and_then(differs) {
            findings.report(Fault::new(Code::GA117, pointer, message, 0..0).at(place));
        }
        let expected = sha256.map(|sha256| Expected { sha256, pointer });
        Ok(if has_events { Feed::Lines { lines: Some(lines), name, expected } } else { Feed::Nothing })
    }
}

/// Why a referenced file can't be read, in words that are the same on every system.
fn told(error: &SourceError) -> String {
    match error {
        SourceError::Io(error) if error.kind() == ErrorKind::NotFound => "there is no such file".to_owned(),
        SourceError::Io(error) if error.kind() == ErrorKind::PermissionDenied => "it may not be read".to_owned(),
        SourceError::Io(_) => "it is no file that can be read".to_owned(),
        SourceError::Outside | SourceError::TooManyOpen => error.to_string(),
    }
}

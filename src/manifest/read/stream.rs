//! One rank's events, pulled in order.
//!
//! Invariant: what comes out depends on the bytes alone. Blocks are cut by size, decoded by whichever thread is free,
//! and consumed in the order in which they were cut.
use crate::canonical::Digest;
use crate::canonical::Hasher;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Place;
use crate::finding::Severity;
use crate::manifest::explain;
use crate::manifest::explain::Fault;
use crate::manifest::read::ReadError;
use crate::manifest::read::decode;
use crate::manifest::read::decode::Decoded;
use crate::manifest::read::decode::Misplaced;
use crate::manifest::read::lines::Lines;
use crate::manifest::read::lines::Piece;
use crate::manifest::read::pool::Pending;
use crate::manifest::read::pool::Pool;
use crate::manifest::read::terms::Terms;
use crate::manifest::source::SourceName;
use crate::manifest::source::stored::Broken;
use crate::manifest::window::Indexed;
use serde::Serialize;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// What a rank's events were, once all have been pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RankDigest {
    /// The rank.
    pub rank: u64,
    /// Number of events.
    pub events: u64,
    /// SHA-256 of the canonical events, each followed by a newline.
    #[serde(rename = "events_sha256")]
    pub sha256: Digest,
}

/// How much is read ahead of what is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Blocks being decoded while another is consumed.
    pub(crate) ahead: usize,
    /// Bytes of a block.
    pub(crate) block: usize,
}

/// Where a rank's events stand.
pub(crate) enum Feed {
    /// Nowhere: they can't be had, which has been reported.
    Nothing,
    /// In the lines after a header.
    Lines { lines: Option<Lines>, name: SourceName, expected: Option<Expected> },
    /// In a document.
    Inline { document: Arc<Vec<u8>>, spans: Arc<[Range<usize>]>, next: usize },
}

/// What the document says the referenced file's digest is.
pub(crate) struct Expected {
    pub(crate) sha256: Digest,
    /// The rank's entry in the document.
    pub(crate) pointer: String,
}

/// Yields a rank's events in order, and reports what is wrong with those that it can't yield.
pub struct RankStream {
    rank: u64,
    feed: Feed,
    pool: Arc<Pool>,
    terms: Terms,
    pace: Pace,
    /// Cut, and possibly decoded, but not consumed.
    queue: VecDeque<Pending<Decoded>>,
    events: std::vec::IntoIter<Indexed>,
    faults: VecDeque<Misplaced>,
    /// Index of the first event of the block being consumed, and of the one after it.
    base: u64,
    next_base: u64,
    /// Events of the block yielded so far.
    yielded: usize,
    total: u64,
    /// The digest of the file that the events stand in, where it was asked for.
    stored: Option<Digest>,
    /// What hashes the canonical bytes, block after block.
    hashed: Pending<Hasher>,
    /// Canonical bytes of the blocks after those.
    unhashed: Vec<Vec<u8>>,
    failed: Option<ReadError>,
    /// Nothing more can be cut.
    ended: bool,
    /// The end has been told.
    is_drained: bool,
}

impl std::fmt::Debug for RankStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RankStream").field("rank", &self.rank).field("events", &self.total).finish_non_exhaustive()
    }
}

impl RankStream {
    pub(crate) fn new(rank: u64, feed: Feed, pool: Arc<Pool>, terms: Terms, pace: Pace) -> Self {
        RankStream {
            rank,
            feed,
            pool,
            terms,
            pace,
            queue: VecDeque::new(),
            events: Vec::new().into_iter(),
            faults: VecDeque::new(),
            base: 0,
            next_base: 0,
            yielded: 0,
            total: 0,
            stored: None,
            hashed: Pending::Ready(Hasher::new()),
            unhashed: Vec::new(),
            failed: None,
            ended: false,
            is_drained: false,
        }
    }

    /// The rank.
    pub fn rank(&self) -> u64 {
        self.rank
    }

    /// The next event that can be read; the faults of those before it are reported first. `None` at the end, which
    /// is also where the source can no longer be read: [`digest`](Self::digest) tells.
    pub fn next(&mut self, faults: &mut Findings) -> Option<Indexed> {
        loop {
            while self.faults.front().is_some_and(|fault| fault.before <= self.yielded) {
                faults.extend(self.faults.pop_front().map(|fault| self.finding(fault)));
            }
            if let Some(mut indexed) = self.events.next() {
                self.yielded += 1;
                self.total += 1;
                indexed.index += self.base;
                return Some(indexed);
            }
            if !self.advance() {
                self.is_drained = true;
                return None;
            }
        }
    }

    /// The digest of the file's bytes as stored, after the last event has been pulled; `None` unless it was asked for.
    pub(crate) fn stored(&self) -> Option<Digest> {
        self.stored
    }

    /// What the events were, after the last has been pulled.
    ///
    /// # Errors
    ///
    /// If the source could not be read to its end.
    pub fn digest(self) -> Result<RankDigest, ReadError> {
        assert!(self.is_drained, "bug: a rank's digest was asked for before its last event");
        match self.failed {
            Some(error) => Err(error),
            None => {
                let mut hasher = self.pool.wait(self.hashed);
                self.unhashed.iter().for_each(|block| hasher.update(block));
                Ok(RankDigest { rank: self.rank, events: self.total, sha256: hasher.finish() })
            }
        }
    }

    fn finding(&self, misplaced: Misplaced) -> Finding {
        let Misplaced { slot, fault, .. } = misplaced;
        let place = match slot {
            Some(slot) => Place::event(self.rank, self.base + slot),
            None => Place::run(),
        };
        fault.at(place)
    }

    /// Goes on to the next block; whether there is one.
    fn advance(&mut self) -> bool {
        while !self.ended && self.queue.len() <= self.pace.ahead {
            match self.cut() {
                Some(pending) => self.queue.push_back(pending),
                None => self.ended = true,
            }
        }
        let Some(pending) = self.queue.pop_front() else { return false };
        let decoded = self.pool.wait(pending);
        self.hash(decoded.canonical);
        self.base = self.next_base;
        self.next_base += decoded.slots;
        self.yielded = 0;
        self.events = decoded.events.into_iter();
        self.faults = decoded.faults.into();
        true
    }

    /// Has a block's canonical bytes hashed after those before, without waiting for them as long as they are not many;
    /// a few bytes are not worth a thread.
    fn hash(&mut self, canonical: Vec<u8>) {
        const FEW: usize = 1 << 14;
        const MANY: usize = 8;
        self.unhashed.push(canonical);
        let mut hasher = match std::mem::replace(&mut self.hashed, Pending::Ready(Hasher::new())).poll() {
            Ok(hasher) => hasher,
            Err(running) if self.unhashed.len() < MANY => {
                self.hashed = running;
                return;
            }
            Err(running) => self.pool.wait(running),
        };
        let blocks = std::mem::take(&mut self.unhashed);
        let is_short = blocks.iter().map(Vec::len).sum::<usize>() < FEW;
        let work = move || {
            blocks.iter().for_each(|block| hasher.update(block));
            hasher
        };
        self.hashed = if is_short { Pending::Ready(work()) } else { self.pool.run(work) };
    }

    /// Has the next block decoded.
    fn cut(&mut self) -> Option<Pending<Decoded>> {
        let (terms, block) = (self.terms, self.pace.block);
        match &mut self.feed {
            Feed::Nothing => None,
            Feed::Inline { document, spans, next } => {
                let from = *next;
                let start = spans.get(from)?.start;
                let length = spans[from..].iter().take_while(|span| span.end - start <= block).count().max(1);
                *next = from + length;
                let (document, spans) = (Arc::clone(document), Arc::clone(spans));
                let work = move || decode::slices(&document, &spans[from..from + length], &terms);
                Some(self.run(work))
            }
            Feed::Lines { lines: reader, .. } => match reader.as_mut()?.next(block) {
                Ok(Some(Piece::Lines(text))) => Some(self.run(move || decode::lines(&text, &terms))),
                Ok(Some(Piece::Overlong { .. })) => Some(Pending::Ready(Decoded::fault(explain::overlong()))),
                Ok(None) => self.close(),
                Err(broken) => self.break_off(broken),
            },
        }
    }

    /// The last block of all is not worth a thread.
    fn run(&self, work: impl FnOnce() -> Decoded + Send + 'static) -> Pending<Decoded> {
        let is_last = match &self.feed {
            Feed::Nothing => true,
            Feed::Inline { spans, next, .. } => *next == spans.len(),
            Feed::Lines { lines, .. } => lines.as_ref().is_none_or(Lines::is_drained),
        };
        if is_last && self.queue.is_empty() { Pending::Ready(work()) } else { self.pool.run(work) }
    }

    /// At the end of a referenced file its digest is known.
    fn close(&mut self) -> Option<Pending<Decoded>> {
        let Feed::Lines { lines, name, expected } = &mut self.feed else { return None };
        let digest = lines.take()?.into_stored().digest();
        self.stored = digest.as_ref().ok().copied().flatten();
        match (digest, expected.take()) {
            (Ok(Some(found)), Some(expected)) if found != expected.sha256 => {
                let pointer = format!("{}/sha256", expected.pointer);
                let message = format!("the file's SHA-256 is {found}, not {}", expected.sha256);
                Some(Pending::Ready(Decoded::about_entry(Fault::new(Code::GA116, pointer, message, 0..0))))
            }
            (Ok(_), _) => None,
            (Err(error), _) => {
                self.failed = Some(ReadError::Source { name: name.clone(), source: error.into() });
                None
            }
        }
    }

    fn break_off(&mut self, broken: Broken) -> Option<Pending<Decoded>> {
        let Feed::Lines { lines, name, .. } = &mut self.feed else { return None };
        match broken {
            Broken::Source(error) => {
                *lines = None;
                self.failed = Some(ReadError::Source { name: name.clone(), source: error.into() });
                None
            }
            Broken::Compression { format, error } => {
                let is_torn = error.kind() == std::io::ErrorKind::UnexpectedEof;
                let severity = if is_torn && self.terms.partial { Severity::Warning } else { Severity::Error };
                let fault = Fault { severity, ..explain::compression(format, &error) };
                Some(Pending::Ready(Decoded::fault(fault)))
            }
        }
    }
}

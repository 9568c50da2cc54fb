//! All ranks in step, window by window: what ledger, clock and rules are folded over.
//!
//! Windows come out in order and each is final: up to [`limits::RESTORE`] windows are held back, so that those which a
//! later restore supersedes never come out at all, and a logged value that comes late still reaches its window.
mod identifiers;
mod segment;
mod structure;
#[cfg(test)]
mod tests;

pub use segment::EventStream;

use crate::finding::{Code, Finding, Findings, Place};
use crate::manifest::contract::Contract;
use crate::manifest::event::Event;
use crate::manifest::limits;
use crate::manifest::resume::Resume;
use crate::manifest::window::{Indexed, RankWindow, Window};
use identifiers::{Identifiers, Use};
use segment::{Segment, Segmenter};
use std::collections::VecDeque;

/// Brings the ranks in step.
pub struct Aligner<'a, S> {
    contract: &'a Contract,
    resume: Option<&'a Resume>,
    partial: bool,
    ranks: Vec<Segmenter<S>>,
    identifiers: Identifiers,
    pending: VecDeque<Window>,
    /// The window that must come next; `None` before the first.
    expected: Option<u64>,
    ended: bool,
    any: bool,
    superseded: u64,
}

/// The segments of all ranks that belong together.
enum Step {
    /// One for each rank.
    Segments(Vec<Segment>),
    /// All streams are at their end, or beyond what can be brought in step.
    End,
}

impl<'a, S: EventStream> Aligner<'a, S> {
    /// Over the streams of all ranks, in order of rank.
    pub fn new(contract: &'a Contract, resume: Option<&'a Resume>, partial: bool, streams: Vec<S>) -> Self {
        let mut identifiers = Identifiers::new();
        if let Some(resume) = resume {
            for rank in &resume.ranks {
                let used = Use { rank: rank.rank.get(), index: 0, window: resume.window.get() };
                rank.microbatches.iter().for_each(|microbatch| identifiers.insert(&microbatch.microbatch, used));
            }
            drop(identifiers.take_second_uses());
        }
        Aligner {
            contract,
            resume,
            partial,
            ranks: streams.into_iter().map(Segmenter::new).collect(),
            identifiers,
            pending: VecDeque::new(),
            expected: resume.map(|resume| resume.window.get()),
            ended: false,
            any: false,
            superseded: 0,
        }
    }

    /// The next final window. Structural faults (GA108, GA109, GA111–GA115) are reported on the way.
    pub fn next(&mut self, findings: &mut Findings) -> Option<Window> {
        while !self.ended && self.pending.len() <= limits::RESTORE as usize {
            self.advance(findings);
        }
        let mut window = self.pending.pop_front()?;
        window.is_last = self.pending.is_empty();
        if is_readable(findings) {
            structure::check(self.contract, self.resume, &window, findings);
        }
        Some(window)
    }

    /// Microbatches whose windows a restore superseded, so far.
    pub fn superseded(&self) -> u64 {
        self.superseded
    }

    /// The streams, for their digests.
    pub fn into_streams(self) -> Vec<S> {
        self.ranks.into_iter().map(|segmenter| segmenter.stream).collect()
    }

    fn advance(&mut self, findings: &mut Findings) {
        match self.step(findings) {
            Step::Segments(segments) => self.accept(segments, findings),
            Step::End => {
                self.end(findings);
                if self.partial && self.pending.back().is_some_and(structure::is_open) {
                    self.pending.pop_back();
                }
                if !self.any && !self.partial {
                    structural(findings, Finding::new(Code::GA111, Place::run(), "the run has no window"));
                }
            }
        }
    }

    /// One segment from every rank.
    fn step(&mut self, findings: &mut Findings) -> Step {
        let mut segments: Vec<Option<Segment>> = (0..self.ranks.len()).map(|at| self.segment(at, findings)).collect();
        if segments.iter().flatten().any(|segment| segment.restore.is_some()) {
            // The others get there too: a crash leaves them at different windows, all of them superseded.
            for (at, segment) in segments.iter_mut().enumerate() {
                while let Some(superseded) = segment.take_if(|segment| segment.restore.is_none()) {
                    self.superseded += superseded.backwards as u64;
                    *segment = self.segment(at, findings);
                }
            }
        }
        let ended = segments.iter().filter(|segment| segment.is_none()).count();
        if ended == segments.len() {
            return Step::End;
        }
        if ended > 0 {
            if !self.partial {
                self.report_uneven_end(&segments, findings);
            }
            return Step::End;
        }
        Step::Segments(segments.into_iter().flatten().collect())
    }

    fn segment(&mut self, at: usize, findings: &mut Findings) -> Option<Segment> {
        let Aligner { ranks, identifiers, .. } = self;
        let rank = ranks[at].stream.rank();
        ranks[at].segment(findings, |indexed| inspect(identifiers, rank, indexed))
    }

    /// Reads the rest of every stream, for its faults and its digest; then every identifier is known.
    fn end(&mut self, findings: &mut Findings) {
        for segmenter in &mut self.ranks {
            let rank = segmenter.stream.rank();
            while let Some(indexed) = segmenter.event(findings) {
                inspect(&mut self.identifiers, rank, &indexed);
            }
        }
        self.ended = true;
        for (name, Use { rank, index, window }) in self.identifiers.take_second_uses() {
            let place = Place::event(rank, index).in_window(window).at("/backward/microbatch");
            let message = format!("microbatch `{name}` stands twice in the run");
            findings.report(Finding::new(Code::GA108, place, message));
        }
    }

    fn report_uneven_end(&self, segments: &[Option<Segment>], findings: &mut Findings) {
        let (longer, segment) = segments
            .iter()
            .enumerate()
            .find_map(|(at, segment)| segment.as_ref().map(|segment| (at, segment)))
            .expect("bug: no rank goes on");
        let shorter = segments.iter().position(Option::is_none).expect("bug: no rank has ended");
        let (longer, shorter) = (self.ranks[longer].stream.rank(), self.ranks[shorter].stream.rank());
        let place = Place { window: segment.window, ..Place::event(longer, segment.events[0].index) };
        let what = match segment.window {
            Some(window) => format!("goes on with window {window}"),
            None => "goes on".to_owned(),
        };
        structural(
            findings,
            Finding::new(Code::GA111, place, format!("rank {longer} {what} after rank {shorter} has ended")),
        );
    }

    /// Takes in segments that belong together, or reports why they do not.
    fn accept(&mut self, segments: Vec<Segment>, findings: &mut Findings) {
        if let Err(finding) = self.agree(&segments) {
            structural(findings, *finding);
            self.end(findings);
            return;
        }
        if let Some(restore) = &segments[0].restore {
            let index = segments[0].events[0].index;
            self.supersede(restore.window.get(), Place::event(self.ranks[0].stream.rank(), index), findings);
        }
        let Some(window) = segments[0].window else {
            // Nothing was begun: a run that crashed again right after its restore, or has no window at all.
            return;
        };
        if let Some(expected) = self.expected
            && expected != window
        {
            let index = structure::first_backward(&segments[0].events);
            let place = Place::event(self.ranks[0].stream.rank(), index).in_window(window).at("/backward/window");
            let message = format!("window {window} where window {expected} is to follow");
            structural(findings, Finding::new(Code::GA111, place, message));
        }
        self.any = true;
        self.expected = Some(window + 1);
        self.push(window, segments);
    }

    /// All ranks restore, or none does, and go on with the same window.
    fn agree(&self, segments: &[Segment]) -> Result<(), Box<Finding>> {
        let restored = |segment: &Segment| segment.restore.as_ref().map(|restore| restore.window.get());
        for (segmenter, segment) in self.ranks.iter().zip(segments).skip(1) {
            let rank = segmenter.stream.rank();
            let first = &segments[0];
            let place = Place::event(rank, segment.events[0].index);
            if restored(segment) != restored(first) {
                let message = format!(
                    "rank {rank} goes back to window {}, rank 0 to window {}",
                    restored(segment).unwrap_or_default(),
                    restored(first).unwrap_or_default()
                );
                return Err(Box::new(Finding::new(Code::GA111, place.at("/restore/window"), message)));
            }
            if segment.window != first.window {
                let at = Place::event(rank, structure::first_backward(&segment.events)).at("/backward/window");
                let place = Place { window: segment.window, ..at };
                let name = |window: Option<u64>| window.map_or("none".to_owned(), |window| window.to_string());
                let message = format!(
                    "rank {rank} is at window {}, rank 0 at window {}",
                    name(segment.window),
                    name(first.window)
                );
                return Err(Box::new(Finding::new(Code::GA111, place, message)));
            }
        }
        Ok(())
    }

    /// A restore to `window`: the held windows from it on are superseded.
    fn supersede(&mut self, window: u64, place: Place, findings: &mut Findings) {
        let place = place.in_window(window).at("/restore/window");
        match self.expected {
            Some(expected) if window > expected => {
                let message =
                    format!("goes back to window {window}, which had not been reached: window {expected} is to follow");
                structural(findings, Finding::new(Code::GA111, place, message));
            }
            Some(expected) if expected - window > limits::RESTORE => {
                let message = format!(
                    "goes back {} windows, to window {window}; the limit is {}",
                    expected - window,
                    limits::RESTORE
                );
                structural(findings, Finding::new(Code::GA115, place, message));
            }
            _ => {}
        }
        while let Some(last) = self.pending.pop_back_if(|last| last.window >= window) {
            self.superseded += last.ranks.iter().map(|rank| rank.backwards().count() as u64).sum::<u64>();
        }
        self.expected = Some(window);
    }

    fn push(&mut self, window: u64, segments: Vec<Segment>) {
        let mut ranks = Vec::with_capacity(segments.len());
        for (at, segment) in segments.into_iter().enumerate() {
            let mut events = segment.events;
            self.move_late(at, window, &mut events);
            let rank = self.ranks[at].stream.rank();
            ranks.push(RankWindow { rank, restore: segment.restore, events, late: vec![] });
        }
        self.pending.push_back(Window { window, ranks, is_last: false });
    }

    /// Gives `logged` events about a window that is still held to that window.
    fn move_late(&mut self, at: usize, window: u64, events: &mut Vec<Indexed>) {
        let late = |indexed: &Indexed| match &indexed.event {
            Event::Logged(logged) => logged.window.get() < window,
            _ => false,
        };
        if !events.iter().any(late) {
            return;
        }
        for indexed in std::mem::take(events) {
            let target = match &indexed.event {
                Event::Logged(logged) if late(&indexed) => logged.window.get(),
                _ => window,
            };
            match self.pending.iter_mut().find(|held| held.window == target) {
                Some(held) => held.ranks[at].late.push(indexed),
                None => events.push(indexed),
            }
        }
    }
}

/// Whether every event could be read: else a structural fault may only be that an unreadable one is missing.
fn is_readable(findings: &Findings) -> bool {
    const STRUCTURAL: [Code; 6] = [Code::GA108, Code::GA109, Code::GA111, Code::GA112, Code::GA113, Code::GA114];
    findings.codes().all(|code| !code.rejects() || STRUCTURAL.contains(&code))
}

fn structural(findings: &mut Findings, finding: Finding) {
    if is_readable(findings) {
        findings.report(finding);
    }
}

/// What is asked of every event, whatever its window.
fn inspect(identifiers: &mut Identifiers, rank: u64, indexed: &Indexed) {
    if let Event::Backward(backward) = &indexed.event {
        let used = Use { rank, index: indexed.index, window: backward.window.get() };
        identifiers.insert(&backward.microbatch, used);
    }
}

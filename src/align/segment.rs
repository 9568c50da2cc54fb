//! One rank's events, cut into stretches: each from a window's first backward to just before the next window's.
use crate::finding::{Code, Finding, Findings, Place};
use crate::manifest::event::{Event, Restore};
use crate::manifest::limits;
use crate::manifest::window::Indexed;
use std::ops::ControlFlow;

/// A rank's events in order.
pub trait EventStream {
    /// The rank.
    fn rank(&self) -> u64;

    /// The next event; faults on the way are reported and skipped.
    fn next(&mut self, findings: &mut Findings) -> Option<Indexed>;
}

/// A stretch of one rank's events.
#[derive(Debug, Default)]
pub(super) struct Segment {
    /// Of its backwards; `None` where it has none.
    pub(super) window: Option<u64>,
    /// The restore with which it begins.
    pub(super) restore: Option<Restore>,
    /// The events, the restore among them.
    pub(super) events: Vec<Indexed>,
    /// Number of backwards.
    pub(super) backwards: usize,
    /// What is beyond a limit: such events are not held.
    pub(super) beyond: bool,
}

/// Cuts a stream into segments.
pub(super) struct Segmenter<S> {
    pub(super) stream: S,
    /// Read, and not of the segment before.
    ahead: Option<Indexed>,
    ended: bool,
    /// Events of the segment before, for reserving room.
    typical: usize,
}

impl<S: EventStream> Segmenter<S> {
    pub(super) fn new(stream: S) -> Self {
        Segmenter { stream, ahead: None, ended: false, typical: 0 }
    }

    /// The next event, whatever segment it belongs to.
    pub(super) fn event(&mut self, findings: &mut Findings) -> Option<Indexed> {
        // Asked first: `take` moves the whole event's room, which is seldom filled.
        if self.ahead.is_some() {
            return self.ahead.take();
        }
        let indexed = if self.ended { None } else { self.stream.next(findings) };
        self.ended = indexed.is_none();
        indexed
    }

    /// The next segment; `None` at the end of the stream. `inspect` sees every event once.
    pub(super) fn segment(&mut self, findings: &mut Findings, mut inspect: impl FnMut(&Indexed)) -> Option<Segment> {
        let mut segment = Segment { events: Vec::with_capacity(self.typical), ..Segment::default() };
        while let Some(indexed) = self.event(findings) {
            if let ControlFlow::Break(()) = segment.belongs(&indexed) {
                self.ahead = Some(indexed);
                break;
            }
            inspect(&indexed);
            if segment.events.len() < limits::WINDOW_EVENTS && segment.backwards <= limits::MICROBATCHES {
                segment.events.push(indexed);
            } else if !segment.beyond {
                segment.beyond = true;
                findings.report(beyond(self.stream.rank(), &segment, &indexed));
            }
        }
        self.typical = segment.events.len();
        (!segment.events.is_empty()).then_some(segment)
    }
}

fn beyond(rank: u64, segment: &Segment, indexed: &Indexed) -> Finding {
    let (limit, what) = match segment.backwards > limits::MICROBATCHES {
        true => (limits::MICROBATCHES, "microbatches"),
        false => (limits::WINDOW_EVENTS, "events"),
    };
    let place = Place { window: segment.window, ..Place::event(rank, indexed.index) };
    Finding::new(Code::GA115, place, format!("more than {limit} {what} in one window of one rank"))
}

impl Segment {
    /// Takes note of an event, or breaks where it begins the next segment.
    fn belongs(&mut self, indexed: &Indexed) -> ControlFlow<()> {
        match &indexed.event {
            Event::Backward(backward) => {
                let window = backward.window.get();
                if self.window.is_some_and(|own| own != window) {
                    return ControlFlow::Break(());
                }
                self.window = Some(window);
                self.backwards += 1;
            }
            Event::Restore(restore) => {
                if !self.events.is_empty() {
                    return ControlFlow::Break(());
                }
                self.restore = Some(restore.clone());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

//! A second look at a manifest, for pictures of what a receipt does not hold.
use super::PipelineError;
use super::Verified;
use crate::align::Aligner;
use crate::finding::Code;
use crate::finding::Folded;
use crate::finding::Place;
use crate::finding::Severity;
use crate::manifest;
use crate::manifest::Opened;
use crate::manifest::event::Event;
use crate::manifest::event::Outcome;
use crate::manifest::source::SourceName;
use crate::manifest::source::Sources;
use crate::manifest::window::Indexed;
use crate::manifest::window::RankWindow;
use crate::manifest::window::Window;
use crate::receipt::document::Receipt;
use crate::report::timeline::Lane;
use crate::report::timeline::Mark;
use crate::report::timeline::ScaleAt;
use crate::report::timeline::Timeline;
use crate::report::timeline::WindowLanes;
use std::collections::BTreeSet;

/// Windows whose events are shown.
const WINDOWS: usize = 3;

/// Ranks of a window that are shown: those with a fault first.
const RANKS: usize = 8;

/// Events of a rank that are shown.
const MARKS: usize = 256;

/// The events of the windows that the errors are in, or of these windows; and the loss scale over all.
///
/// # Errors
///
/// If a source can't be read any more.
pub fn timeline<R: AsRef<Receipt>>(
    sources: &dyn Sources,
    inputs: &[SourceName],
    partial: bool,
    verified: &Verified<R>,
    asked: Option<u64>,
) -> Result<Timeline, PipelineError> {
    let mut timeline = Timeline::default();
    if !verified.sealed.as_ref().eligible {
        return Ok(timeline);
    }
    let Opened { contract, resume, streams, mut findings, .. } = manifest::open_run(sources, inputs, partial)?;
    let Some(contract) = contract else { return Ok(timeline) };
    let faults = faults(verified);
    let wanted = wanted(verified, asked);
    let mut aligner = Aligner::new(&contract, resume.as_ref(), partial, streams);
    while let Some(window) = aligner.next(&mut findings) {
        timeline.scales.push(scale(&window));
        // Where nothing is wrong, the first window shows how the run goes.
        if wanted.contains(&window.window) || (wanted.is_empty() && timeline.lanes.is_empty()) {
            timeline.lanes.push(lanes(&window, &faults));
        }
    }
    Ok(timeline)
}

/// Everything that was found at a place, with the worst of each code.
fn faults<R>(verified: &Verified<R>) -> Vec<(Code, Place)> {
    let mut faults: Vec<(Code, Place)> = Vec::new();
    for (folded, _) in &verified.findings {
        let places = folded.instances.iter().map(|(place, _)| place).chain([&folded.place]);
        let places: BTreeSet<&Place> = places.collect();
        faults.extend(places.into_iter().map(|place| (folded.code, place.clone())));
    }
    faults
}

/// The window that was asked for, else those of the worst instances of the errors that no other finding explains.
fn wanted<R>(verified: &Verified<R>, asked: Option<u64>) -> BTreeSet<u64> {
    if let Some(asked) = asked {
        return BTreeSet::from([asked]);
    }
    let mut wanted = BTreeSet::new();
    let is_cause = |(folded, cause): &&(Folded, Option<Code>)| folded.severity == Severity::Error && cause.is_none();
    for (folded, _) in verified.findings.iter().filter(is_cause) {
        if wanted.len() < WINDOWS {
            wanted.extend(folded.place.window.or(folded.windows.first().copied()));
        }
    }
    wanted
}

fn scale(window: &Window) -> ScaleAt {
    let events = || window.ranks.first().into_iter().flat_map(|rank| rank.events.iter());
    let scale = events().find_map(|indexed| match &indexed.event {
        Event::Backward(backward) => backward.loss_scale,
        _ => None,
    });
    let is_skipped = events().any(|indexed| is_skipped(&indexed.event));
    ScaleAt { window: window.window, scale: scale.map(|scale| scale.get()), is_skipped }
}

fn is_skipped(event: &Event) -> bool {
    matches!(event, Event::OptimizerStep(step) if step.outcome == Outcome::Skipped)
}

fn lanes(window: &Window, faults: &[(Code, Place)]) -> WindowLanes {
    let mut ranks: Vec<Lane> = window.ranks.iter().map(|rank| lane(window.window, rank, faults)).collect();
    let more_ranks = ranks.len().saturating_sub(RANKS);
    if more_ranks > 0 {
        ranks.sort_by_key(|lane| !lane.has_faults());
        ranks.truncate(RANKS);
        ranks.sort_by_key(|lane| lane.rank);
    }
    let of_window = |place: &Place| place.rank.is_none() && place.window == Some(window.window);
    WindowLanes { window: window.window, ranks, more_ranks, faults: codes(faults, of_window) }
}

fn lane(window: u64, rank: &RankWindow, faults: &[(Code, Place)]) -> Lane {
    let is_here = |place: &Place| place.rank == Some(rank.rank);
    let has = |event: u64| rank.events.iter().any(|indexed| indexed.index == event);
    let at_no_event = |place: &Place| is_here(place) && place.window == Some(window) && !place.event.is_some_and(has);
    let mark = |indexed: &Indexed| {
        let faults = codes(faults, |place| is_here(place) && place.event == Some(indexed.index));
        mark(&indexed.event, faults)
    };
    let marks: Vec<Mark> = rank.events.iter().map(mark).filter(is_shown).collect();
    let more_marks = marks.len().saturating_sub(MARKS);
    let marks = marks.into_iter().take(MARKS).collect();
    Lane { rank: rank.rank, marks, more_marks, faults: codes(faults, at_no_event) }
}

fn codes(faults: &[(Code, Place)], is_meant: impl Fn(&Place) -> bool) -> Vec<Code> {
    let codes: BTreeSet<Code> = faults.iter().filter(|(_, place)| is_meant(place)).map(|(code, _)| *code).collect();
    codes.into_iter().collect()
}

fn mark(event: &Event, faults: Vec<Code>) -> Mark {
    let (synced, is_nonfinite) = match event {
        Event::Backward(backward) => (backward.really_synced(), backward.nonfinite.is_some()),
        _ => (None, false),
    };
    Mark { tag: event.tag(), synced, is_skipped: is_skipped(event) || is_nonfinite, faults }
}

/// What moves no clock is left out unless something is wrong with it.
fn is_shown(mark: &Mark) -> bool {
    !matches!(mark.tag, "logged" | "parameters" | "checkpoint" | "evaluation") || !mark.faults.is_empty()
}

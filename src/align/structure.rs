//! What makes a window well-formed over all ranks: GA109, GA112, GA113, GA114.
use crate::finding::{Code, Finding, Findings, Place};
use crate::manifest::contract::Contract;
use crate::manifest::event::{Event, Outcome};
use crate::manifest::resume::Resume;
use crate::manifest::window::{Indexed, RankWindow, Window};
use crate::numeric::shown;

/// What became of a window on a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disposition {
    Stepped,
    Carried,
    Dropped,
    Left,
}

impl Disposition {
    fn of(rank: &RankWindow) -> Self {
        let mut disposition = Disposition::Left;
        for Indexed { event, .. } in &rank.events {
            match event {
                Event::OptimizerStep(_) => return Disposition::Stepped,
                Event::Carry(_) => disposition = Disposition::Carried,
                Event::Drop(_) => disposition = Disposition::Dropped,
                _ => {}
            }
        }
        disposition
    }

    fn verb(self) -> &'static str {
        match self {
            Disposition::Stepped => "steps",
            Disposition::Carried => "carries",
            Disposition::Dropped => "drops",
            Disposition::Left => "leaves",
        }
    }
}

/// Whether any rank has neither stepped nor carried nor dropped the window.
pub(super) fn is_open(window: &Window) -> bool {
    window.ranks.iter().any(|rank| Disposition::of(rank) == Disposition::Left)
}

/// Index of the first backward among a rank's events, or of the first event.
pub(super) fn first_backward(events: &[Indexed]) -> u64 {
    let backward = events.iter().find(|indexed| matches!(indexed.event, Event::Backward(_)));
    backward.or(events.first()).map_or(0, |indexed| indexed.index)
}

/// Reports what is malformed about a window.
pub(super) fn check(contract: &Contract, resume: Option<&Resume>, window: &Window, findings: &mut Findings) {
    let resume = resume.filter(|resume| resume.window.get() == window.window);
    if window.ranks.len() > 1 {
        sizes(window, resume, findings);
        dispositions(contract, window, resume, findings);
    }
    targets(window, resume, findings);
    vectors(window, findings);
}

/// Microbatches of the window on a rank, those carried in included.
fn size(rank: &RankWindow, resume: Option<&Resume>) -> u64 {
    let carried = resume.and_then(|resume| resume.ranks.iter().find(|resumed| resumed.rank.get() == rank.rank));
    rank.backwards().count() as u64 + carried.map_or(0, |resumed| resumed.microbatches.len() as u64)
}

fn sizes(window: &Window, resume: Option<&Resume>, findings: &mut Findings) {
    let first = size(&window.ranks[0], resume);
    if let Some(other) = window.ranks.iter().find(|rank| size(rank, resume) != first) {
        let message = format!(
            "rank {} accumulates {} in window {}, rank {} {first}",
            other.rank,
            shown::count(size(other, resume), "microbatch"),
            window.window,
            window.ranks[0].rank
        );
        let place = Place::event(other.rank, first_backward(&other.events)).in_window(window.window);
        findings.report(Finding::new(Code::GA112, place, message));
    }
}

fn dispositions(contract: &Contract, window: &Window, resume: Option<&Resume>, findings: &mut Findings) {
    let full = contract.accumulation_steps.at(window.window);
    let first = Disposition::of(&window.ranks[0]);
    let Some(other) = window.ranks.iter().find(|rank| Disposition::of(rank) != first) else { return };
    if window.ranks.iter().all(|rank| size(rank, resume) >= full) {
        return; // a full window that one rank did not step is GA301
    }
    let message = format!(
        "rank {} {} the short window {}, rank {} {} it",
        other.rank,
        Disposition::of(other).verb(),
        window.window,
        window.ranks[0].rank,
        first.verb()
    );
    let place = Place::event(other.rank, first_backward(&other.events)).in_window(window.window);
    findings.report(Finding::new(Code::GA114, place, message));
}

fn targets(window: &Window, resume: Option<&Resume>, findings: &mut Findings) {
    let recorded = window.ranks.iter().flat_map(|rank| rank.backwards()).map(|(_, _, backward)| backward.valid_targets);
    let carried = resume.into_iter().flat_map(|resume| &resume.ranks).flat_map(|rank| &rank.microbatches);
    if recorded.chain(carried.map(|microbatch| microbatch.valid_targets)).any(|targets| targets.get() > 0) {
        return;
    }
    for rank in &window.ranks {
        let step = rank.events.iter().find_map(|indexed| match &indexed.event {
            Event::OptimizerStep(step) => Some((indexed.index, step.outcome)),
            _ => None,
        });
        if let Some((index, outcome)) = step {
            let verb = if outcome == Outcome::Applied { "stepped" } else { "skipped" };
            let message = format!("window {} was {verb} without a single valid target", window.window);
            findings.report(Finding::new(
                Code::GA113,
                Place::event(rank.rank, index).in_window(window.window),
                message,
            ));
            return;
        }
    }
}

fn vectors(window: &Window, findings: &mut Findings) {
    let mut finite = window
        .ranks
        .iter()
        .flat_map(|rank| rank.backwards().map(move |(_, indexed, backward)| (rank.rank, indexed.index, backward)))
        .filter(|(_, _, backward)| backward.loss_sum.is_some());
    let Some((_, _, first)) = finite.next() else { return };
    let has = first.gradient_sum.is_some();
    if let Some((rank, index, other)) = finite.find(|(_, _, backward)| backward.gradient_sum.is_some() != has) {
        let (with, without) = match has {
            true => (&first.microbatch, &other.microbatch),
            false => (&other.microbatch, &first.microbatch),
        };
        let message = format!(
            "in window {} microbatch `{}` has a gradient_sum and `{}` has none",
            window.window,
            with.as_str(),
            without.as_str()
        );
        let place = Place::event(rank, index).in_window(window.window).at("/backward/gradient_sum");
        findings.report(Finding::new(Code::GA109, place, message));
    }
}

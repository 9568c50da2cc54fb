//! The partial window that the next manifest resumes.
use super::document::Carried;
use super::number::{count, finite};
use super::window::microbatch_report;
use crate::clock;
use crate::manifest::contract::Tail;
use crate::manifest::event::Event;
use crate::manifest::list::List;
use crate::manifest::resume::{ResumedMicrobatch, ResumedRank};
use crate::rules::Judged;

/// What each rank had done of a window that was carried; `None` where it was not, or is not the last.
pub(super) fn ranks(judged: &Judged<'_>) -> Option<Vec<ResumedRank>> {
    if judged.clock.tail != Some(Tail::Carry) || !judged.window.is_last {
        return None;
    }
    let ranks = judged.window.ranks.iter().map(|rank| {
        let reports = judged.ledger.microbatches.iter().filter(|m| m.rank == rank.rank);
        let microbatches = reports.filter_map(|m| microbatch_report(judged, m)).filter_map(|report| {
            Some(ResumedMicrobatch {
                gradient_sum: report.gradient_sum,
                loss_sum: report.loss_sum?,
                microbatch: report.microbatch,
                valid_targets: report.valid_targets,
            })
        });
        let random_state = rank.events.iter().rev().find_map(|indexed| match &indexed.event {
            Event::Carry(carry) => carry.random_state.clone(),
            _ => None,
        });
        let microbatches = List::new(microbatches.collect::<Vec<_>>()).expect("bug: more microbatches than were read");
        ResumedRank { microbatches, random_state, rank: count(rank.rank) }
    });
    Some(ranks.collect())
}

/// The carried object, with the clocks as they stand at the end.
pub(super) fn carried(window: u64, ranks: Vec<ResumedRank>, clocks: &clock::Carried) -> Carried {
    Carried {
        window: count(window),
        ranks,
        applied_updates: count(clocks.applied_updates),
        loss_scale: clocks.loss_scale.and_then(finite),
        growth_tracker: clocks.growth_tracker.map(count),
        hysteresis_left: clocks.hysteresis_left.map(count),
        growth_delay_pending: clocks.growth_delay_pending,
        learning_rate: clocks.learning_rate.and_then(finite),
    }
}

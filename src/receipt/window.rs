//! What a receipt holds of one window and of its microbatches.
use super::document::{ClaimReport, Compared, Deltas, MeanOfMeansReport, MicrobatchReport, View, WindowReport};
use super::number::{count, finite, vector};
use crate::ledger::WindowLedger;
use crate::ledger::delta::Delta;
use crate::ledger::microbatch::Microbatch;
use crate::ledger::window::{Claim, ClipClaim};
use crate::manifest::event::Event;
use crate::manifest::identifier::Identifier;
use crate::numeric::exact::ExactSum;
use crate::rules::Judged;

/// The report on a judged window. `agrees`: no rule found an error in it.
pub(super) fn window_report(judged: &Judged<'_>, agrees: bool) -> WindowReport {
    let Judged { ledger, clock, .. } = *judged;
    let gradients = ledger.gradients.as_ref();
    let clocks: Vec<_> = clock.ranks.iter().map(|rank| rank.trace.counts).collect();
    let differ = clocks.iter().any(|counts| *counts != clocks[0]);
    WindowReport {
        window: count(ledger.window),
        microbatches: count(ledger.microbatches.len() as u64),
        valid_targets: count(ledger.valid_targets()),
        loss_sum: finite(ledger.loss_sum.to_f64()),
        loss: ledger.loss.and_then(finite),
        gradient: gradients.and_then(|gradients| gradients.declared.as_deref()).and_then(vector),
        full_batch: View {
            loss: ledger.token_mean.and_then(finite),
            gradient: gradients.and_then(|gradients| vector(&gradients.token_mean)),
        },
        accumulated: View {
            loss: accumulated_loss(ledger).and_then(finite),
            gradient: gradients.and_then(|gradients| gradients.seen.as_deref()).and_then(vector),
        },
        mean_of_means: mean_of_means(ledger),
        clock: clocks[0],
        clock_by_rank: differ.then_some(clocks),
        update_index: clock.update_index().map(count),
        outcome: clock.outcome(),
        tail: clock.tail,
        logged: claims(ledger),
        deltas: deltas(ledger),
        agrees,
    }
}

/// Σ f_seen·loss_sum / c: what the run differentiated; `None` unless every microbatch's part was seen.
fn accumulated_loss(ledger: &WindowLedger) -> Option<f64> {
    let mut sum = ExactSum::new();
    for microbatch in &ledger.microbatches {
        match microbatch.differentiated {
            Some(differentiated) => sum.add(differentiated),
            None if microbatch.valid_targets == 0 && microbatch.is_finite() => {}
            None => return None,
        }
    }
    Some(sum.over(ledger.counts.reduction))
}

fn mean_of_means(ledger: &WindowLedger) -> MeanOfMeansReport {
    let gradient = ledger.gradients.as_ref().and_then(|gradients| gradients.mean_of_means.as_deref()).and_then(vector);
    match ledger.mean_of_means {
        None => MeanOfMeansReport::default(),
        Some(mean) => MeanOfMeansReport {
            loss: finite(mean.loss),
            gradient,
            absolute_drift: finite(mean.absolute_drift),
            relative_drift: mean.relative_drift.and_then(finite),
        },
    }
}

fn compared(delta: &Delta) -> Option<Compared> {
    Some(Compared {
        recorded: finite(delta.recorded)?,
        expected: finite(delta.expected)?,
        explanation: delta.explanation,
    })
}

fn claims(ledger: &WindowLedger) -> Vec<ClaimReport> {
    let logged = ledger.claims.iter().map(|claim: &Claim| ClaimReport {
        rank: count(claim.rank),
        event: count(claim.event),
        loss: claim.loss.as_ref().and_then(compared),
        denominator: claim.denominator.as_ref().and_then(compared),
        gradient_norm: claim.grad_norm.as_ref().and_then(compared),
        gradient_drift: claim.gradient.and_then(|gradient| finite(gradient.relative)),
    });
    let clipped = ledger.clips.iter().map(|clip: &ClipClaim| ClaimReport {
        rank: count(clip.rank),
        event: count(clip.event),
        gradient_norm: clip.gradient.or(clip.logged).as_ref().and_then(compared),
        ..ClaimReport::default()
    });
    let mut claims: Vec<ClaimReport> = logged.chain(clipped).filter(ClaimReport::says_something).collect();
    claims.sort_by_key(|claim| (claim.rank, claim.event));
    claims
}

fn deltas(ledger: &WindowLedger) -> Option<Deltas> {
    let weights = &ledger.weights;
    let worst = weights.worst?;
    Some(Deltas {
        weights_off: count(weights.off),
        weights_compared: count(weights.compared),
        worst_weight: finite(worst.relative),
        one_factor: weights.one_factor.and_then(finite),
        explanation: weights.explanation,
    })
}

/// The report on a microbatch of a judged window; its name and vector stand in its event, or in the resume.
pub(super) fn microbatch_report(judged: &Judged<'_>, microbatch: &Microbatch) -> Option<MicrobatchReport> {
    let (name, gradient_sum) = recorded(judged, microbatch)?;
    Some(MicrobatchReport {
        microbatch: name,
        window: count(judged.window.window),
        rank: count(microbatch.rank),
        backward_index: count(microbatch.backward_index),
        valid_targets: count(microbatch.valid_targets),
        loss_sum: microbatch.loss_sum.and_then(finite),
        weight_declared: microbatch.declared.and_then(finite),
        weight_seen: microbatch.seen().and_then(finite),
        sync: microbatch.sync,
        gradient_sum,
    })
}

fn recorded(
    judged: &Judged<'_>,
    microbatch: &Microbatch,
) -> Option<(Identifier, Option<crate::manifest::list::Vector>)> {
    let Some(source) = microbatch.source else {
        let rank = judged.resume?.ranks.iter().find(|rank| rank.rank.get() == microbatch.rank)?;
        let carried = rank.microbatches.get(usize::try_from(microbatch.backward_index).ok()?)?;
        return Some((carried.microbatch.clone(), carried.gradient_sum.clone()));
    };
    let rank = judged.window.ranks.iter().find(|rank| rank.rank == microbatch.rank)?;
    match &rank.events.get(source.position)?.event {
        Event::Backward(backward) => Some((backward.microbatch.clone(), backward.gradient_sum.clone())),
        _ => None,
    }
}

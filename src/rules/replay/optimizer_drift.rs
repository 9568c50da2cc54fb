//! GA702.
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Place;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Where `parameters` and `logged.gradient` were recorded in the same coordinates, takes the declared optimizer from
    /// one record to the next: clipped by the recorded norm, at the recorded learning rate or else the schedule's. What
    /// was recorded afterwards has to be what follows, within tolerance. AdamW and momentum are followed from the first
    /// update on, and as long as no gradient is missing; plain SGD always.
    ///
    /// ## Why it is wrong
    /// The weights did not move as declared: another optimizer, other constants, decay that is coupled where it was
    /// declared decoupled, parameter groups with other rates, a step that was clipped twice, or weights that somebody
    /// changed between the updates.
    ///
    /// ## What to do
    /// Compare the contract's `optimizer` with the one that was built, parameter groups included, and look for code that
    /// writes weights outside the step (EMA, weight tying, reloading). Record coordinates of parameters that share one
    /// group.
    GA702, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    let Some(drift) = judged.coordinates else { return };
    let place = Place::event(drift.rank, drift.event).in_window(judged.window.window);
    let place = place.at(format!("/parameters/values/{}", drift.element));
    let why = match drift.is_after_update {
        true => "follows from the recorded gradient, clip, rate and optimizer",
        false => "was recorded before, with no update since",
    };
    let message = format!("a parameter of {} where {} {why}", drift.recorded, drift.expected);
    let magnitude = if drift.relative.is_finite() { drift.relative } else { f64::MAX };
    findings.report(Finding::new(Code::GA702, place, message).with_magnitude(magnitude));
}

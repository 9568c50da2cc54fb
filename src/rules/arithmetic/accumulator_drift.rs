//! GA207.
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Place;
use crate::ledger::delta::words;
use crate::ledger::window::Looks;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Follows the gradient buffers from backward to backward: each has to leave what was there plus loss scale times
    /// gradient numerator times weight, all-reduced where the microbatch really synced. Buffers are judged against what
    /// was recorded of them last, and not at all where something unrecorded may have touched them since they were
    /// cleared.
    ///
    /// ## Why it is wrong
    /// Autograd adds into `.grad`; accumulation rests on that. Buffers that hold only the last gradient were
    /// overwritten; ones that hold only the first were lent out or not written at all; ones that do not start from zero
    /// carry another window's gradients. No loss shows any of it.
    ///
    /// ## What to do
    /// The message says at which backward it begins and what it looks like. Clear gradients exactly once, between
    /// updates; do not assign to `.grad` in hooks; do not reuse a buffer that a reduction still reads.
    GA207, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    let ledger = judged.ledger;
    let Some(drift) = ledger.drift else { return };
    let microbatch = &ledger.microbatches[drift.microbatch];
    let (recorded, expected, element) = (drift.delta.recorded, drift.delta.expected, drift.element);
    let looks = match drift.looks {
        Looks::Overwritten => "the buffers were overwritten: they hold only what this backward added",
        Looks::Unchanged => "the buffers hold what they held before: nothing was added",
        Looks::Doubled => "a contribution was added twice",
        Looks::CarriedIn => "the buffers should have started from zero and hold something else besides",
        Looks::Otherwise => drift.delta.explanation.map_or("", words),
    };
    let message = format!(
        "after backward {} of the window the buffers hold {recorded} at element {element} instead of {expected}: {looks} \
         ({} of the window's backwards are off)",
        microbatch.backward_index, drift.off
    );
    let event = microbatch.source.map(|source| source.event);
    let place = Place { rank: Some(microbatch.rank), event, ..Place::default() }.in_window(ledger.window);
    let place = place.at(format!("/backward/accumulated/{element}"));
    findings.report(Finding::new(Code::GA207, place, message).with_magnitude(drift.delta.relative()));
}

//! GA701.
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Place;
use crate::numeric::shown::significant;
use crate::replay::Trace;
use crate::replay::trace::WindowTrace;
use crate::rules::Check;
use crate::rules::clock::count;

rule! {
    /// ## What it does
    /// Executes the recorded events on the embedded decoder, with the recorded weights, scales and norms, and beside them
    /// the same targets as one batch under the contract's clock. The gradient that the optimizer consumed has to be the
    /// full batch's, on every rank: ‖run − reference‖₂ ≤ absolute·√P + relative·‖reference‖₂ over the P parameters, plus
    /// what reordering the additions of a correct window does (`docs/method.md`). The weights have to move as often, and
    /// the loss scale has to be the policy's.
    ///
    /// ## Why it is wrong
    /// The update was not the one that a big batch would have made. The rule that is named as the cause says which event
    /// or weight it was; this one says by how much the gradient was wrong, and that the recorded order was enough to make
    /// it so.
    ///
    /// ## What to do
    /// Run `receipt replay` on the manifest: for each window it compares the scaled, the unscaled and the consumed
    /// gradient with the full batch's, and the first of them that is off shows which event changed it. Where another
    /// finding is named as the cause, correct that first.
    GA701, Check::Replay(check)
}

fn check(trace: &Trace, findings: &mut Findings) {
    for window in trace.windows.iter().filter(|window| !window.agrees()) {
        let place = Place { rank: window.place.map(|(rank, _)| rank), event: window.place.map(|(_, event)| event), ..Place::default() };
        let finding = Finding::new(Code::GA701, place.in_window(window.window), message(window));
        // A gradient that is off counts for more than a clock, and more the further it is off.
        findings.report(finding.with_magnitude(window.off().unwrap_or(0.0)));
    }
}

fn message(window: &WindowTrace) -> String {
    let [run, reference] = window.steps;
    match &window.gradient {
        Some(gradient) if !window.gradient_agrees() => {
            let drift = &gradient.consumed;
            let far = match drift.relative() {
                Some(relative) => format!("{} of the full batch's", significant(relative)),
                None => format!("{} where the full batch's is 0", significant(drift.l2)),
            };
            let allowed = significant(window.allowed / drift.reference);
            let more = if run == reference { String::new() } else { format!("; {} moved the weights", count(run, "step")) };
            let allowed = if drift.reference > 0.0 { format!(", where {allowed} is allowed") } else { String::new() };
            format!("executed, the gradient that the optimizer consumed is off by {far}{allowed}{more}")
        }
        _ if run != reference => format!("executed, {} moved the weights where {reference} was due", count(run, "step")),
        _ => match window.scale {
            Some(scale) => format!("executed, the loss scale came to {} where the policy has {}", scale.run, scale.reference),
            None => unreachable!("bug: a window that agrees was found"),
        },
    }
}

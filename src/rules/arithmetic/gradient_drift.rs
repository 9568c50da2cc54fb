//! GA202.
use crate::numeric::shown::significant;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Place;
use crate::ledger::delta::words;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Compares the gradient that the run logged for a window, unscaled and before clipping, with what the declared
    /// formula makes of the recorded gradient numerators: for `token-mean/1` their sum over all valid targets.
    ///
    /// ## Why it is wrong
    /// The optimizer was given another gradient than one big batch would have given. Wrong weights are one cause
    /// (GA203); others leave the losses right: gradients overwritten instead of added, cleared in the middle, left over
    /// from the window before, or never reduced over ranks.
    ///
    /// ## What to do
    /// Clear and assign nothing between a window's backwards, and read the logged gradient after the last of them, before
    /// clipping. If it still differs, record `accumulated`: GA207 then says at which backward the buffers went wrong. A
    /// finding that is named as the cause comes first.
    GA202, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    for claim in &judged.ledger.claims {
        let Some(gradient) = claim.gradient else { continue };
        let Some(explanation) = gradient.delta.explanation else { continue };
        let (element, recorded, expected) = (gradient.element, gradient.delta.recorded, gradient.delta.expected);
        let formula = judged.contract.formula.as_str();
        let message = format!(
            "logged gradient has {recorded} at element {element}, but {formula} gives {expected}; the whole vector is \
             off by {} of its length ({})",
            significant(gradient.relative),
            words(explanation)
        );
        let field = format!("/logged/gradient/{element}");
        let place = Place::event(claim.rank, claim.event).in_window(judged.ledger.window).at(field);
        findings.report(Finding::new(Code::GA202, place, message).with_magnitude(gradient.relative));
    }
}

//! GA204.
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Place;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Compares the count by which the run says it divided with the window's valid targets over all microbatches and
    /// ranks, or with the count that the declared formula divides by. Counts are compared exactly.
    ///
    /// ## Why it is wrong
    /// Every weight of the window is off by the same factor. A count that is too large by about one for each sequence
    /// was taken before the shift; one that is too small leaves out ranks; one that fits another window is stale.
    ///
    /// ## What to do
    /// Count labels after the shift and the mask, over the microbatches of this window and over all ranks.
    GA204, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    for claim in &judged.ledger.claims {
        let Some(delta) = claim.denominator.filter(|delta| !delta.agrees()) else { continue };
        let (recorded, expected, formula) = (delta.recorded, delta.expected, judged.contract.formula.as_str());
        let direction = if recorded > expected { "too many" } else { "too few" };
        let difference = (recorded - expected).abs();
        let targets = if difference == 1.0 { "target" } else { "targets" };
        let message =
            format!("divided by {recorded}, but {formula} divides by {expected}: {difference} {targets} {direction}");
        let place = Place::event(claim.rank, claim.event).in_window(judged.ledger.window).at("/logged/denominator");
        findings.report(Finding::new(Code::GA204, place, message).with_magnitude(delta.relative()));
    }
}

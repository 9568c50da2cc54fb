//! GA201.
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Place;
use crate::ledger::delta::words;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Compares the loss that the run logged for a window with what the declared formula makes of the recorded loss
    /// sums: for `token-mean/1` all loss sums of the window over all its valid targets.
    ///
    /// ## Why it is wrong
    /// The number on the dashboard is not the loss of the update. The usual cause is a mean of microbatch means, which
    /// lets a target in a short microbatch count for more than one in a long microbatch. The gradient may be right
    /// (then only the log is wrong) or follow the same wrong weights: GA203 and GA202 say which.
    ///
    /// ## What to do
    /// Add up loss sums and target counts over microbatches and ranks, and divide once. A log that is rounded should
    /// say so with `decimals`, one that averages several windows with `windows`.
    GA201, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    for claim in &judged.ledger.claims {
        let Some(delta) = claim.loss else { continue };
        let Some(explanation) = delta.explanation else { continue };
        let (recorded, expected, formula) = (delta.recorded, delta.expected, judged.contract.formula.as_str());
        let over = match claim.windows {
            1 => String::new(),
            windows => format!(", averaged over {windows} windows"),
        };
        let message = format!(
            "logged loss {recorded}, but {formula} gives {expected}{over}: off by {} ({})",
            (recorded - expected).abs(),
            words(explanation)
        );
        let place = Place::event(claim.rank, claim.event).in_window(judged.ledger.window).at("/logged/loss");
        findings.report(Finding::new(Code::GA201, place, message).with_magnitude(delta.relative()));
    }
}

//! GA205.
use crate::numeric::shown::significant;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Place;
use crate::ledger::delta::Delta;
use crate::ledger::delta::words;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Compares the logged and the clipped gradient norm with each other and, where the recorded basis holds all
    /// parameters, with the norm of the declared formula's gradient. A clip is compared only where it is the window's
    /// one clip of complete, unscaled gradients.
    ///
    /// ## Why it is wrong
    /// The norm decides how much is clipped. One that is not the gradient's own was taken too early, on one rank's
    /// shard, on scaled gradients or with a shared parameter counted twice; or the gradient itself is wrong. A norm that
    /// is off by a whole factor shows what clipping and Adam hide.
    ///
    /// ## What to do
    /// Take the global L2 norm once: after the last backward, the all-reduce and the unscale, over all parameters.
    GA205, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    let window = judged.ledger.window;
    for claim in &judged.ledger.claims {
        let place = Place::event(claim.rank, claim.event).in_window(window).at("/logged/grad_norm");
        report(findings, place, "logged norm", "the gradient's norm", claim.grad_norm);
    }
    for clip in &judged.ledger.clips {
        let place = Place::event(clip.rank, clip.event).in_window(window).at("/clip/norm");
        report(findings, place.clone(), "clipped norm", "the gradient's norm", clip.gradient);
        report(findings, place, "clipped norm", "the logged norm", clip.logged);
    }
}

fn report(findings: &mut Findings, place: Place, what: &str, against: &str, delta: Option<Delta>) {
    let Some(delta) = delta else { return };
    let Some(explanation) = delta.explanation else { return };
    let (recorded, expected) = (delta.recorded, delta.expected);
    let ratio = if expected == 0.0 { String::new() } else { format!(", a factor of {}", significant(recorded / expected)) };
    let message = format!("{what} {recorded}, but {against} is {expected}{ratio} ({})", words(explanation));
    findings.report(Finding::new(Code::GA205, place, message).with_magnitude(delta.relative()));
}

//! GA206.
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Place;
use crate::finding::Severity;
use crate::ledger::microbatch::Microbatch;
use crate::manifest::event::Event;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Finds a microbatch without valid targets in a window that has some. It is an error where its loss sum or its
    /// gradient numerator is not zero, a mean over no targets (NaN) included.
    ///
    /// ## Why it is wrong
    /// Under a token mean such a microbatch adds nothing and costs a pass. Under a mean of means it is 0/0: frameworks
    /// make NaN of it, or count it as a loss of 0 and pull the mean down. Numerators that are not zero mean that targets
    /// were counted otherwise than they were summed.
    ///
    /// ## What to do
    /// Skip or merge sequences whose labels are all masked; sum losses with `reduction="sum"`, which gives 0 over no
    /// targets.
    GA206, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    let ledger = judged.ledger;
    if ledger.counts.valid_targets == 0 {
        return;
    }
    for microbatch in ledger.microbatches.iter().filter(|microbatch| microbatch.valid_targets == 0) {
        let Some(source) = microbatch.source else { continue };
        let place = Place::event(microbatch.rank, source.event).in_window(ledger.window);
        let (field, message, severity) = match microbatch.loss_sum {
            None => ("/backward/nonfinite", "a microbatch without targets has a nonfinite loss: 0/0".to_owned(), Severity::Error),
            Some(loss) if loss != 0.0 => {
                ("/backward/loss_sum", format!("a microbatch without targets has a loss sum of {loss}"), Severity::Error)
            }
            Some(_) if has_gradient(judged, microbatch) => {
                let message = "a microbatch without targets has a gradient that is not zero".to_owned();
                ("/backward/gradient_sum", message, Severity::Error)
            }
            Some(_) => ("/backward/valid_targets", "a microbatch without targets".to_owned(), Severity::Warning),
        };
        findings.report(Finding::new(Code::GA206, place.at(field), message).with_severity(severity));
    }
}

fn has_gradient(judged: &Judged<'_>, microbatch: &Microbatch) -> bool {
    let rank = judged.window.ranks.get(microbatch.rank as usize);
    let position = microbatch.source.map(|source| source.position);
    let event = rank.zip(position).and_then(|(rank, position)| rank.events.get(position)).map(|indexed| &indexed.event);
    let Some(Event::Backward(backward)) = event else { return false };
    backward.gradient_sum.iter().flatten().any(|value| value.get() != 0.0)
}

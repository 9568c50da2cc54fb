//! GA208.
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Place;
use crate::manifest::contract::Evidence;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Finds windows that were stepped or skipped and lack evidence that the contract requires (`require`), and finite
    /// microbatches without a count that the declared formula needs, such as `unshifted_targets`.
    ///
    /// ## Why it is wrong
    /// What was not recorded is not judged. A run that declares its evidence can't be verified by leaving it out where
    /// it would have shown a fault.
    ///
    /// ## What to do
    /// Record it for every microbatch or window, or take it out of `require`.
    GA208, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    let ledger = judged.ledger;
    let place = Place::window(ledger.window);
    for &kind in &judged.contract.require {
        let message = match kind {
            Evidence::Loss => match ledger.evidence.without_loss {
                Some((first, 1)) => format!("required evidence \"loss\" is missing: no logged loss covers window {first}"),
                Some((first, windows)) => format!(
                    "required evidence \"loss\" is missing: no logged loss covers the {windows} windows from {first} on"
                ),
                None => continue,
            },
            _ => {
                let share = ledger.evidence.share(kind);
                if share.held == share.possible {
                    continue;
                }
                let (held, possible) = (share.held, share.possible);
                let word = kind.as_str();
                let recorded = match held {
                    0 => "nowhere in the window".to_owned(),
                    _ => format!("in {held} of {possible} places of the window"),
                };
                format!("required evidence {word:?} is missing: recorded {recorded}")
            }
        };
        findings.report(Finding::new(Code::GA208, place.clone(), message));
    }
    if ledger.evidence.without_count > 0 {
        let (lacking, formula) = (ledger.evidence.without_count, judged.contract.formula.as_str());
        let message = match lacking {
            1 => format!("1 microbatch lacks a count that {formula} needs, so its weight is not judged"),
            _ => format!("{lacking} microbatches lack a count that {formula} needs, so their weights are not judged"),
        };
        findings.report(Finding::new(Code::GA208, place, message));
    }
}

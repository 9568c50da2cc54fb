//! GA203.
use crate::numeric::shown::significant;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Place;
use crate::ledger::delta::words;
use crate::manifest::contract::Formula;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Divides each backward loss by the microbatch's loss sum, with every later `rescale` multiplied in and any
    /// auxiliary loss taken away. What comes out is the weight that the microbatch had in what was differentiated; it
    /// has to be the declared formula's, for `token-mean/1` the same for every microbatch of the window.
    ///
    /// ## Why it is wrong
    /// The gradient followed another objective, whatever the log says. Weights off by one common factor are a wrong
    /// denominator or a division too many or too few: clipping and Adam hide that, the learning rate does not. Weights
    /// that differ among microbatches change the direction of the update.
    ///
    /// ## What to do
    /// Call backward on `loss_sum * c / N`: N the valid targets of the whole window over all microbatches and ranks,
    /// counted after the shift, c the number of ranks where gradients are averaged over ranks and 1 where they are
    /// summed. A run's diagnosis names the known recipe that its weights follow instead.
    ///
    /// Numbers that were rounded on their way into the recording look like another objective: record all their digits.
    GA203, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    let (ledger, weights) = (judged.ledger, &judged.ledger.weights);
    let (Some(worst), Some(explanation)) = (weights.worst, weights.explanation) else { return };
    if !ledger.stepped_or_skipped() {
        return;
    }
    let microbatch = &ledger.microbatches[worst.microbatch];
    let (differentiated, expected) = (worst.differentiated, worst.expected);
    let why = match weights.one_factor {
        Some(factor) => {
            let divided = ledger.counts.valid_targets as f64 / factor;
            let (divided, factor) = (significant(divided), significant(factor));
            let all = weights.compared;
            match judged.contract.formula {
                Formula::TokenMean => format!(
                    "all {all} weights of the window are off by one factor: an effective denominator of {divided} where N \
                     is {}",
                    ledger.counts.valid_targets
                ),
                _ => format!("all {all} weights of the window are off by one factor, {factor}"),
            }
        }
        None if weights.compared == 1 => format!("the window's only weight is off; {}", words(explanation)),
        None => format!("{} of {} weights of the window are off; {}", weights.off, weights.compared, words(explanation)),
    };
    let message = match (microbatch.seen(), microbatch.declared) {
        (Some(seen), Some(declared)) if expected != 0.0 => {
            let formula = judged.contract.formula.as_str();
            let ratio = significant(differentiated / expected);
            format!("weight {seen} where {formula} gives {declared}, a factor of {ratio} ({why})")
        }
        _ => format!("a backward loss of {differentiated} where the loss sum is 0 ({why})"),
    };
    let event = microbatch.source.map(|source| source.event);
    let place = Place { rank: Some(microbatch.rank), event, ..Place::default() };
    let place = place.in_window(ledger.window).at("/backward/backward_loss");
    findings.report(Finding::new(Code::GA203, place, message).with_magnitude(worst.relative));
}

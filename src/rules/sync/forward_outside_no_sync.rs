//! GA403.
use super::backwards;
use super::is_seen;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::numeric::shown;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Finds microbatches whose forward and backward disagree about `no_sync()`: one inside, the other outside. A
    /// warning.
    ///
    /// ## Why it is wrong
    /// PyTorch's DistributedDataParallel reads the flag at the forward. A backward alone inside `no_sync()` all-reduces
    /// all the same, and a backward alone outside does not: what the code says is not what happens.
    ///
    /// ## What to do
    /// Put forward and backward of a microbatch into the same `with model.no_sync():` block, and set
    /// `require_backward_grad_sync` before the forward.
    GA403, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    if !is_seen(judged) {
        return;
    }
    for (rank, recorded) in judged.clock.ranks.iter().zip(&judged.window.ranks) {
        let disagree: Vec<u64> = backwards(recorded)
            .filter(|(_, b)| b.sync.zip(b.forward_sync).is_some_and(|(backward, forward)| backward != forward))
            .map(|(index, _)| index)
            .collect();
        let Some(&first) = disagree.first() else { continue };
        let all = shown::count(rank.trace.counts.backward, "microbatch");
        let message = format!("forward and backward disagree about no_sync in {} of {all}", disagree.len());
        findings.report(Finding::new(Code::GA403, judged.clock.place(rank, first), message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;
    use crate::rules::clock::testing::find;
    use crate::rules::clock::testing::fires;
    use crate::rules::sync::two;
    use serde_json::json;

    #[test]
    fn forward_and_backward_stand_in_the_same_context() {
        assert_eq!(fires(&RULE, two(json!({})), &["b- b- b+ step", "b- b- b+ step"]), 0);
        let found = find(&RULE, two(json!({})), &["b-^ b-^ b+ step", "b- b- b+ step"]);
        assert_eq!((found[0].severity, found[0].count), (Severity::Warning, 1));
        assert_eq!(found[0].message, "forward and backward disagree about no_sync in 2 of 3 microbatches");
    }
}

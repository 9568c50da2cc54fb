//! GA401.
use super::backwards;
use super::is_seen;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Finds a stepped or skipped window whose last backward did not really all-reduce the gradients on a rank. Where
    /// `forward_sync` was recorded it decides, because PyTorch's DistributedDataParallel decides at the forward; else
    /// `sync` does.
    ///
    /// ## Why it is wrong
    /// Each rank then steps with its own gradients, or with earlier microbatches reduced and the last one local. The
    /// replicas drift apart, and nothing in the logs of one rank shows it.
    ///
    /// ## What to do
    /// Run the last microbatch of each window outside `no_sync()`, in the short window at the end of the data too, and put
    /// the forward inside the same context as the backward.
    GA401, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    if !is_seen(judged) {
        return;
    }
    for (rank, recorded) in judged.clock.ranks.iter().zip(&judged.window.ranks) {
        let Some((index, last)) = backwards(recorded).next_back().filter(|_| rank.outcome().is_some()) else { continue };
        if last.really_synced() != Some(false) {
            continue;
        }
        let why = match (last.sync, last.forward_sync) {
            (Some(true), Some(false)) => "its forward stood inside no_sync, though its backward did not",
            _ => "it stood inside no_sync",
        };
        let message = format!("the window's last backward did not synchronise: {why}");
        findings.report(Finding::new(Code::GA401, judged.clock.place(rank, index), message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::find_in;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use crate::rules::sync::two;
    use serde_json::json;

    #[test]
    fn the_last_backward_synchronises() {
        assert_eq!(fires(&RULE, two(json!({})), &["b- b- b+ step", "b- b- b+ step"]), 0);
        assert_eq!(fires(&RULE, two(json!({})), &["b- b- b- step", "b- b- b+ step"]), 1);
        assert_eq!(fires(&RULE, two(json!({})), &["b- b- b- skip", "b- b- b- skip"]), 2);
        assert_eq!(fires(&RULE, two(json!({})), &["b- b- step", "b- b- step"]), 2, "a tail synchronises too");
    }

    #[test]
    fn where_nothing_is_stepped_or_seen_nothing_is_missed() {
        assert_eq!(fires(&RULE, two(json!({})), &["b- b-", "b- b-"]), 0);
        assert_eq!(fires(&RULE, two(json!({"unobserved": ["sync"]})), &["b- b- b- step", "b- b- b- step"]), 0);
        assert_eq!(fires(&RULE, json!({}), &["b- b- b- step"]), 0);
        assert!(find_in(&RULE, two(json!({})), None, false, &["b b b step", "b b b step"]).is_empty());
    }

    #[test]
    fn the_forward_decides_where_it_was_recorded() {
        let found = message(&RULE, two(json!({})), &["b- b- b+^ step", "b- b- b+ step"]);
        assert!(found.ends_with("its forward stood inside no_sync, though its backward did not"), "{found}");
        assert_eq!(fires(&RULE, two(json!({})), &["b- b- b-^ step", "b- b- b-^ step"]), 0);
    }
}

//! GA404.
use super::backwards;
use super::is_seen;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Finds a microbatch of a window that really synchronised on some ranks and not on others. Microbatches are counted
    /// from the window's last.
    ///
    /// ## Why it is wrong
    /// An all-reduce is entered by every rank or it never ends. Ranks that enter it at different microbatches hang until
    /// the time-out, or pair with another bucket's call and reduce gradients that do not belong together.
    ///
    /// ## What to do
    /// Decide from the microbatch's number alone, never from a rank's own data, whether it synchronises.
    GA404, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    if !is_seen(judged) {
        return;
    }
    let Some((first, others)) = judged.window.ranks.split_first() else { return };
    for (position, other) in others.iter().enumerate() {
        let pairs = backwards(first).rev().zip(backwards(other).rev());
        let differ = pairs.filter(|((_, a), (_, b))| match (a.really_synced(), b.really_synced()) {
            (Some(a), Some(b)) => a != b,
            _ => false,
        });
        let Some(((_, on_first), (index, _))) = differ.last() else { continue };
        let Some(rank) = judged.clock.ranks.get(position + 1) else { continue };
        let (here, there) = match on_first.really_synced() {
            Some(true) => ("did not synchronise", "did"),
            _ => ("synchronised", "did not"),
        };
        let message = format!("this backward {here} on rank {} and {there} on rank {}", other.rank, first.rank);
        findings.report(Finding::new(Code::GA404, judged.clock.place(rank, index), message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::find;
    use crate::rules::clock::testing::fires;
    use crate::rules::sync::two;
    use serde_json::json;

    #[test]
    fn ranks_synchronise_together() {
        assert_eq!(fires(&RULE, two(json!({})), &["b- b- b+ step", "b- b- b+ step"]), 0);
        assert_eq!(fires(&RULE, two(json!({})), &["b- b- b- step", "b- b- b- step"]), 0);
        let found = find(&RULE, two(json!({})), &["b- b- b+ step", "b- b+ b- step"]);
        assert_eq!(found[0].message, "this backward synchronised on rank 1 and did not on rank 0");
        assert_eq!(found[0].place.event, Some(1));
        let found = find(&RULE, two(json!({})), &["b- b- b+ step", "b- b- b- step"]);
        assert_eq!(found[0].message, "this backward did not synchronise on rank 1 and did on rank 0");
    }

    #[test]
    fn the_forward_decides_where_it_was_recorded() {
        assert_eq!(fires(&RULE, two(json!({})), &["b- b- b+ step", "b- b- b+^ step"]), 1);
        assert_eq!(fires(&RULE, two(json!({"unobserved": ["sync"]})), &["b- b+ b+ step", "b- b- b+ step"]), 0);
    }
}

//! GA402.
use super::backwards;
use super::is_seen;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Severity;
use crate::manifest::contract::Reduction;
use crate::manifest::contract::Synchronize;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Finds all-reduces before a window's last backward although the contract declares `synchronize: "last"`. A warning
    /// where gradients are averaged over the ranks, an error where they are summed.
    ///
    /// ## Why it is wrong
    /// Averaging an average again changes nothing, so under `mean` the gradient is right and only K − 1 of K all-reduces
    /// are wasted. Under `sum` the buffers that were summed already are summed again: early microbatches count W times,
    /// or W² times.
    ///
    /// ## What to do
    /// Run all but the last microbatch of a window inside `no_sync()`. If synchronising each time is meant (FSDP without
    /// `no_sync` saves memory by it), declare `synchronize: "each"`.
    GA402, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    if !is_seen(judged) || judged.contract.synchronize == Some(Synchronize::Each) {
        return;
    }
    let severity = match judged.contract.gradient_reduction {
        Some(Reduction::Sum) => Severity::Error,
        _ => Severity::Warning,
    };
    for (rank, recorded) in judged.clock.ranks.iter().zip(&judged.window.ranks) {
        let earlier: Vec<_> = backwards(recorded).rev().skip(1).collect();
        let synced: Vec<u64> =
            earlier.iter().rev().filter(|(_, b)| b.really_synced() == Some(true)).map(|(index, _)| *index).collect();
        let Some(&first) = synced.first() else { continue };
        let message = match earlier.len() {
            1 => "the backward before the last synchronised".to_owned(),
            all => format!("{} of the {all} backwards before the last synchronised", synced.len()),
        };
        let finding = Finding::new(Code::GA402, judged.clock.place(rank, first), message);
        findings.report(finding.with_severity(severity).with_magnitude(synced.len() as f64));
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
    fn under_mean_it_is_a_warning_and_under_sum_an_error() {
        let early = ["b+ b- b+ step", "b+ b- b+ step"];
        let found = find(&RULE, two(json!({})), &early);
        assert_eq!((found[0].severity, found[0].count), (Severity::Warning, 2));
        assert_eq!(found[0].message, "1 of the 2 backwards before the last synchronised");
        let found = find(&RULE, two(json!({"gradient_reduction": "sum"})), &early);
        assert_eq!(found[0].severity, Severity::Error);
    }

    #[test]
    fn only_what_really_synchronised_early_counts() {
        assert_eq!(fires(&RULE, two(json!({})), &["b- b- b+ step", "b- b- b+ step"]), 0);
        assert_eq!(fires(&RULE, two(json!({"synchronize": "each"})), &["b+ b+ b+ step", "b+ b+ b+ step"]), 0);
        assert_eq!(fires(&RULE, two(json!({"unobserved": ["sync"]})), &["b+ b+ b+ step", "b+ b+ b+ step"]), 0);
        assert_eq!(fires(&RULE, two(json!({})), &["b- b-^ b+ step", "b+^ b- b+ step"]), 1);
    }
}

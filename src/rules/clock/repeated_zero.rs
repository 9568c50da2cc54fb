//! GA309.
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::manifest::contract::Unobserved;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Finds gradients that were cleared again although nothing had been added since the last clearing. A warning.
    ///
    /// ## Why it is wrong
    /// It costs a pass over the gradients and nothing else. But two places that both believe they own the clearing tend
    /// to drift apart until one of them clears inside a window.
    ///
    /// ## What to do
    /// Keep one `zero_grad()`. Several trainers clear once more before the first window: then there is nothing to do.
    GA309, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    if !judged.contract.observes(Unobserved::ZeroGrad) {
        return;
    }
    for rank in &judged.clock.ranks {
        let Some(first) = rank.trace.zeros_repeated.first() else { continue };
        let message = format!("gradients cleared {} times in a row", rank.trace.zeros_repeated.len() + 1);
        findings.report(Finding::new(Code::GA309, judged.clock.place(rank, first.index), message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;
    use crate::rules::clock::testing::find;
    use crate::rules::clock::testing::fires;
    use serde_json::json;

    #[test]
    fn once_is_enough() {
        assert_eq!(fires(&RULE, json!({}), &["zero b b b step zero | b b b step zero"]), 0);
        let found = find(&RULE, json!({}), &["zero zero b b b step zero tick zero zero"]);
        assert_eq!(found[0].severity, Severity::Warning);
        assert_eq!(found[0].message, "gradients cleared 4 times in a row");
        assert_eq!(found[0].place.event, Some(1));
        assert_eq!(fires(&RULE, json!({"unobserved": ["zero_grad"]}), &["zero zero b b b step"]), 0);
    }
}

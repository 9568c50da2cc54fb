//! GA303.
use super::count;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::manifest::contract::Unobserved;
use crate::rules::Check;
use crate::rules::Judged;

rule! {
    /// ## What it does
    /// Finds gradients that were cleared between a backward and the backward, step or drop of the same window that
    /// still needed them.
    ///
    /// ## Why it is wrong
    /// What the earlier microbatches had added is gone. The update is that of the microbatches after the clearing, with
    /// weights meant for all of them; the logged loss shows nothing.
    ///
    /// ## What to do
    /// Clear once a window: after the step, or before the first backward, never per microbatch. Look for a
    /// `zero_grad()` inside the loop over microbatches, or one in a wrapper that takes every microbatch for an update.
    GA303, Check::Window(check)
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    if !judged.contract.observes(Unobserved::ZeroGrad) {
        return;
    }
    for rank in &judged.clock.ranks {
        let inside = &rank.trace.zeros_inside;
        let (Some(first), Some(last)) = (inside.first(), inside.last()) else { continue };
        let lost = rank.trace.backwards.iter().filter(|backward| backward.position < last.position).count();
        let all = count(rank.trace.counts.backward, "backward");
        let times = if inside.len() == 1 { String::new() } else { format!(" {} times", inside.len()) };
        let message = format!("gradients cleared{times} inside the window: {lost} of its {all} came before and are lost");
        let place = judged.clock.place(rank, first.index);
        findings.report(Finding::new(Code::GA303, place, message).with_magnitude(lost as f64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use serde_json::json;

    #[test]
    fn clearing_between_windows_is_right() {
        for good in ["zero b b b step zero | b b b step zero", "b b b skip zero | b b zero", "b b drop zero"] {
            assert_eq!(fires(&RULE, json!({}), &[good]), 0, "{good}");
        }
        assert_eq!(fires(&RULE, json!({"unobserved": ["zero_grad"]}), &["b zero b b step"]), 0);
    }

    #[test]
    fn clearing_inside_is_not() {
        assert_eq!(
            message(&RULE, json!({}), &["b zero b zero b step"]),
            "gradients cleared 2 times inside the window: 2 of its 3 backwards came before and are lost"
        );
        assert_eq!(fires(&RULE, json!({}), &["b b b zero step"]), 1);
        assert_eq!(fires(&RULE, json!({"tail": "drop"}), &["b b zero drop"]), 1);
    }
}

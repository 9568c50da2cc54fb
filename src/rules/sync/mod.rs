//! Rules over synchronisation between ranks: GA4xx. None applies to a run of one rank.
use super::Rule;
use crate::manifest::contract::Unobserved;
use crate::manifest::event::Backward;
use crate::manifest::window::RankWindow;
use crate::rules::Judged;

registry! {
    /// In order of code.
    SYNC: Rule = RULE, test crate::rules::check_rule;
    missing_final_sync, early_sync, forward_outside_no_sync, sync_disagreement, ranks_diverge,
}

/// Whether there are ranks to synchronise and the recorder sees it.
fn is_seen(judged: &Judged<'_>) -> bool {
    judged.window.ranks.len() > 1 && judged.contract.observes(Unobserved::Sync)
}

/// A rank's backwards in order, with their event's index.
fn backwards(recorded: &RankWindow) -> impl DoubleEndedIterator<Item = (u64, &Backward)> {
    recorded.backwards().map(|(_, indexed, backward)| (indexed.index, backward))
}

/// A contract of two ranks, for tests.
#[cfg(test)]
pub(super) fn two(with: serde_json::Value) -> serde_json::Value {
    let mut contract = serde_json::json!({"world_size": 2, "gradient_reduction": "mean"});
    contract.as_object_mut().expect("an object").extend(with.as_object().expect("an object").clone());
    contract
}

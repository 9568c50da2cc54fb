//! Rules over execution: GA7xx.
use super::Rule;

registry! {
    /// In order of code.
    REPLAY: Rule = RULE, test crate::rules::check_rule;
    replay_drift, optimizer_drift, recompute_mismatch,
}

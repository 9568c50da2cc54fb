//! Rules over the exact ledger: GA2xx.
use super::Rule;

registry! {
    /// In order of code.
    ARITHMETIC: Rule = RULE, test crate::rules::check_rule;
    loss_drift, weight_drift,
}

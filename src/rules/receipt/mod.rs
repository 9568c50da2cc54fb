//! Rules about a receipt that is checked.
use super::Rule;

registry! {
    /// In order of code.
    RECEIPT: Rule = RULE, test crate::rules::check_rule;
    receipt_hash, receipt_differs, receipt_unsupported,
}

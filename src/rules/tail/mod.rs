//! Rules over tails and resumption: GA6xx.
use super::Rule;

mod ending;

registry! {
    /// In order of code.
    TAIL: Rule = RULE, test crate::rules::check_rule;
    tail_policy, resume_mismatch,
}

pub use resume_mismatch::resume_differs;

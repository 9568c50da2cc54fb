//! GA118.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds a contract that no run can fulfil: K or W of 0, a negative tolerance, W > 1 without
    /// `gradient_reduction`, a growth factor of at most 1, and the like.
    ///
    /// ## Why it is wrong
    /// Judging against it would call every run wrong, or every run right.
    ///
    /// ## What to do
    /// Correct the field named.
    GA118, Check::Reading
}

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
    /// Correct the field named. For W > 1 `gradient_reduction` is `"mean"` where DistributedDataParallel averages over
    /// ranks, which is what it does by default.
    GA118, Check::Reading
}

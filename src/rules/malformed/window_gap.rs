//! GA111.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds a run without any window, windows that are missing, left and taken up again, that go backwards without
    /// a `restore`, or that are not the same on every rank.
    ///
    /// ## Why it is wrong
    /// A window is the set of microbatches that feed one update. Where its borders are unclear, so is every total.
    ///
    /// ## What to do
    /// Count windows up by one for each update, on every rank alike; record a `restore` when training goes back.
    GA111, Check::Reading
}

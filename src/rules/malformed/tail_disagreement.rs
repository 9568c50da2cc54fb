//! GA114.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds ranks that treat a short window at the end of the data differently: one flushes, another carries or
    /// drops it.
    ///
    /// ## Why it is wrong
    /// The update is one, so its membership must be the same on every rank.
    ///
    /// ## What to do
    /// Let every rank follow the contract's `tail`.
    GA114, Check::Reading
}

//! GA103.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds an unknown or a missing field, a value of the wrong type, `null`, and an event with two tags or none.
    ///
    /// ## Why it is wrong
    /// A field that is not understood might change what the others mean, so it is refused and not skipped.
    ///
    /// ## What to do
    /// Compare with `receipt schema manifest` or `receipt schema microbatches`.
    GA103, Check::Reading
}

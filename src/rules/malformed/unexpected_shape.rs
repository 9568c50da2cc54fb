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
    /// Compare with what `receipt schema manifest` prints, or for a `.jsonl` file `receipt schema microbatches`: its line 1
    /// must be the header.
    GA103, Check::Reading
}

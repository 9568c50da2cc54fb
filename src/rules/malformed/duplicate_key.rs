//! GA104.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds a key that stands twice in one object, at any depth.
    ///
    /// ## Why it is wrong
    /// Readers disagree about which of the two counts, so the same bytes would mean different runs.
    ///
    /// ## What to do
    /// Write each key once.
    GA104, Check::Reading
}

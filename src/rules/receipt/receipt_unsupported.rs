//! GA803.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds a receipt of an unknown schema or of a newer version.
    ///
    /// ## Why it is wrong
    /// A field that is not understood cannot be re-derived.
    ///
    /// ## What to do
    /// Use a version of `receipt` at least as new as the one that sealed it.
    GA803, Check::Receipt
}

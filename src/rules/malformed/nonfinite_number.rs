//! GA106.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds a real number that is not finite in binary64 (`1e999`), `NaN` and `Infinity` as literals or strings,
    /// and a loss total that overflows.
    ///
    /// ## Why it is wrong
    /// A sum with a nonfinite term says nothing.
    ///
    /// ## What to do
    /// Record `"nonfinite":true` in place of the number.
    GA106, Check::Reading
}

//! GA105.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds a count that is negative, fractional, written with an exponent or a fraction (`1.0`), or above 2^53;
    /// and a total above 2^53.
    ///
    /// ## Why it is wrong
    /// Counts are exact. Above 2^53 binary64 cannot hold every integer, and a `1.0` says that the count went
    /// through a float before.
    ///
    /// ## What to do
    /// Record counts as integers, before they meet a float.
    GA105, Check::Reading
}

//! GA115.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds what is beyond a limit: nesting, line length, file size, vector length, number of ranks, microbatches
    /// of a window, decimals, how far a restore reaches back.
    ///
    /// ## Why it is wrong
    /// Everything that comes from outside has a bound, so that a hostile or broken file cannot exhaust the machine.
    ///
    /// ## What to do
    /// The limits stand in `docs/method.md`. A real run that needs more is worth an issue.
    GA115, Check::Reading
}

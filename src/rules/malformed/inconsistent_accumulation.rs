//! GA112.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds ranks that recorded another number of microbatches in the same window.
    ///
    /// ## Why it is wrong
    /// Ranks that accumulate differently do not make one update together: the shorter waits at the all-reduce or
    /// reduces another window's gradients.
    ///
    /// ## What to do
    /// Give every rank the same number of microbatches in a window; pad with microbatches without targets if the
    /// data is uneven.
    GA112, Check::Reading
}

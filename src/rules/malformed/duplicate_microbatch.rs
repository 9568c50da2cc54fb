//! GA108.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds a microbatch identifier that stands twice in the run, over all ranks and windows, superseded ones
    /// included.
    ///
    /// ## Why it is wrong
    /// An identifier names one execution. A second record of it counts the same targets twice.
    ///
    /// ## What to do
    /// Give each forward and backward pass its own name; in the second epoch the same data gets a new one.
    GA108, Check::Reading
}

//! GA110.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds a rank that is missing, stands twice or lies outside `0 .. world_size`, and a header whose rank is not
    /// its entry's.
    ///
    /// ## Why it is wrong
    /// The denominator is the window's targets over all ranks; without one of them nothing can be judged.
    ///
    /// ## What to do
    /// Give all ranks' manifests, each once; `world_size` counts data-parallel replicas only.
    GA110, Check::Reading
}

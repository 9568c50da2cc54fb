//! GA117.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds microbatch manifests of one run that carry different contracts.
    ///
    /// ## Why it is wrong
    /// A run is judged against one declaration, made before it began.
    ///
    /// ## What to do
    /// Write the same contract into every header, or use a rank manifest that holds it once.
    GA117, Check::Reading
}

//! GA109.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds a vector whose length is not the declared dimension, vectors without a declared basis, and windows in
    /// which some finite microbatches have a `gradient_sum` and others have none.
    ///
    /// ## Why it is wrong
    /// Vectors of different bases cannot be added, and a sum over some microbatches is no gradient of the window.
    ///
    /// ## What to do
    /// Declare `gradient_basis` and record the vector for every microbatch or for none of a window.
    GA109, Check::Reading
}

//! GA801.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds a receipt whose `receipt_sha256` is not the hash of the canonical bytes of everything else.
    ///
    /// ## Why it is wrong
    /// The receipt was changed after it was sealed, or was not written by `receipt`.
    ///
    /// ## What to do
    /// Derive it again from the manifest: `receipt verify --receipt FILE MANIFEST`.
    GA801, Check::Receipt
}

//! GA802.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds a receipt that the manifest does not give: input, contract, totals, evidence, windows or carried
    /// differ. The first differing field is named.
    ///
    /// ## Why it is wrong
    /// The receipt is about another run, or about this one before it was changed.
    ///
    /// ## What to do
    /// Verify the manifest again and keep the new receipt beside it.
    GA802, Check::Receipt
}

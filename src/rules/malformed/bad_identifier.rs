//! GA107.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds an identifier outside `^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}$`, or an opaque string that is too long.
    ///
    /// ## Why it is wrong
    /// Identifiers are printed in terminals, pages and annotations. They are data and never markup or escape codes.
    ///
    /// ## What to do
    /// Name microbatches like `w0-r0-m0`.
    GA107, Check::Reading
}

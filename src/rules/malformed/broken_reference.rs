//! GA116.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds a reference whose file is missing or whose hash differs, a path that leaves the rank manifest's folder
    /// (absolute, `..`, symbolic link), and a header without a contract where no rank manifest supplies one.
    ///
    /// ## Why it is wrong
    /// A receipt binds bytes. A reference that can lead elsewhere binds nothing.
    ///
    /// ## What to do
    /// Put the microbatch manifests beside the rank manifest and write their SHA-256 again after the last change.
    /// Where a header has no contract, verify the rank manifest that names these files, or put the contract into every
    /// header.
    GA116, Check::Reading
}

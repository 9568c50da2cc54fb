//! GA101.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds text that is not JSON: an empty file, a byte-order mark, invalid UTF-8, a truncated document, text
    /// after its end, a blank line. In JSON Lines a last line that breaks off is named as torn.
    ///
    /// ## Why it is wrong
    /// A document that cannot be read whole cannot be judged: what is missing might be the fault.
    ///
    /// ## What to do
    /// Write the file with a JSON encoder and one event to a line. A torn last line means that the run crashed or
    /// still goes on: use `--partial`.
    GA101, Check::Reading
}

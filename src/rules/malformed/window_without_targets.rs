//! GA113.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds a window without a single valid target that was stepped or skipped.
    ///
    /// ## Why it is wrong
    /// Its mean loss is 0/0. Some loops replace the denominator by 1 and step on decay and momentum alone.
    ///
    /// ## What to do
    /// Do not step on a window without targets: draw more data, or leave the window out on every rank.
    GA113, Check::Reading
}

//! Runs of which only the receipt is made by hand.
use super::Checked;
use super::Folders;
use crate::manifest::source::SourceName;
use crate::receipt::document::Receipt;
use crate::report::Shown;

/// A run under this name, at the root of a repository, in a format.
pub(super) fn format(receipt: &Receipt, name: &str, format: fn(&Checked<'_>) -> String) -> String {
    let folders = Folders { current: "/repo".into(), root: "/repo".into() };
    let inputs = [SourceName::Path(name.into())];
    format(&Checked { shown: Shown::new(receipt, name), inputs: &inputs, folders: &folders })
}

//! A receipt that is refused.
use crate::failure::Failure;
use crate::kind::{self, Kind};
use crate::output;
use receipt::finding::{Code, Finding};
use receipt::report::visible::visible;
use std::path::Path;
use std::process::ExitCode;

/// Says why, and gives the exit code: 3 for what is no receipt that this version knows, 1 for one that does not hold.
pub(crate) fn refuse(finding: &Finding) -> Result<ExitCode, Failure> {
    let Finding { code, message, .. } = finding;
    let text = format!("error[{code}] {}: {message}\n", code.name());
    output::print(visible(&text).as_bytes()).map_err(Failure::Print)?;
    let malformed = code.rejects() || *code == Code::GA803;
    Ok(ExitCode::from(if malformed { 3 } else { 1 }))
}

/// Why a document is no receipt: of a manifest, that it is one.
pub(crate) fn explained(path: &Path, finding: Finding) -> Finding {
    if kind::of(path) != Some(Kind::Manifest) {
        return finding;
    }
    let name = path.display();
    let message = format!("{name} is a manifest, not a receipt: `receipt verify {name}` judges it");
    Finding { message, ..finding }
}

//! Our failing to do the job: said on standard error, exit code 2.
use receipt::canonical::{CanonicalError, Digest};
use receipt::manifest::read::ReadError;
use receipt::pipeline::PipelineError;
use receipt::report::explain::NoSuchWindow;
use receipt::report::visible::visible;
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Usage, or a file that cannot be read or written.
const UNUSABLE: u8 = 2;

/// Why a command could not do its job.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    #[error(transparent)]
    Source(#[from] ReadError),
    #[error(transparent)]
    NoSuchWindow(#[from] NoSuchWindow),
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    #[error("there is no rule or recipe {word} and no such file; `receipt rules` lists the rules")]
    NoSuchPage { word: String },
    #[error("--window shows a window of a run, and {name} is none")]
    WindowOfAPage { name: String },
    #[error("there is no command {word}; `receipt --help` lists the commands")]
    NoSuchCommand { word: String },
    #[error("cannot read {name}")]
    Read { name: String, source: io::Error },
    #[error("{name} is not a receipt that can be resumed from: {message}")]
    NotAReceipt { name: String, message: String },
    #[error("the receipt was derived {}", previous(wanted))]
    Previous { wanted: Option<Digest> },
    #[error("{name} is an input: the {by} would take its place")]
    Overwrites { name: String, by: &'static str },
    #[error("{name} cannot be bound: {why}")]
    Unbindable { name: String, why: String },
    #[error("cannot write {name}")]
    Write { name: String, source: io::Error },
    #[error("cannot write to standard output")]
    Print(#[source] io::Error),
}

fn previous(wanted: &Option<Digest>) -> String {
    match wanted {
        Some(digest) => format!("with the previous receipt {digest}, which `--previous` is to name"),
        None => "without a previous receipt, and `--previous` names one".to_owned(),
    }
}

impl Failure {
    pub(crate) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Failure {
        let name = path.display().to_string();
        move |source| Failure::Write { name, source }
    }

    /// Says what failed and why, down to the first cause.
    pub(crate) fn report(&self) -> ExitCode {
        let mut text = format!("receipt: {self}");
        let mut cause = self.source();
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        // Nowhere is left to say that standard error is closed.
        let _ = writeln!(io::stderr().lock(), "{}", visible(&text));
        ExitCode::from(UNUSABLE)
    }
}

//! A run from the command line: what was named, verified, and shown with its source.
use crate::cli::ReadArgs;
use crate::failure::Failure;
use crate::previous;
use crate::repository;
use crate::sources::Disk;
use crate::terminal;
use receipt::manifest::source::{SourceName, Sources};
use receipt::pipeline::{self, PipelineError, ReplayPlan, Verified, VerifyOptions};
use receipt::receipt::Sealed;
use receipt::receipt::document::{Detail, Receipt, Verdict};
use receipt::report::ci::Checked;
use receipt::report::timeline::Timeline;
use receipt::report::{Excerpt, Shown, Style, verdict};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How the library takes a run: [`pipeline::verify`], or [`pipeline::judge`] where nothing is sealed.
type Take<R> = fn(&dyn Sources, &[SourceName], &VerifyOptions) -> Result<Verified<R>, PipelineError>;

/// Reads, judges, executes and seals a run, and shows how far that is.
pub(crate) fn verify(disk: &Disk, inputs: &[SourceName], options: VerifyOptions) -> Result<Verified, PipelineError> {
    watched(pipeline::verify, disk, inputs, options)
}

/// Takes a run, and shows how far that is.
fn watched<R>(
    take: Take<R>,
    disk: &Disk,
    inputs: &[SourceName],
    mut options: VerifyOptions,
) -> Result<Verified<R>, PipelineError> {
    if let Some(plan) = &mut options.replay {
        plan.progress = disk.progress.executing();
    }
    disk.progress.during(|| take(disk, inputs, &options))
}

/// A verified run and where it came from.
pub(crate) struct Run<R = Sealed> {
    disk: Disk,
    inputs: Vec<SourceName>,
    partial: bool,
    subject: String,
    pub(crate) verified: Verified<R>,
}

impl Run {
    /// Reads, judges and seals what was named.
    pub(crate) fn verify(paths: &[PathBuf], read: &ReadArgs, detail: Detail) -> Result<Self, Failure> {
        Run::with(pipeline::verify, paths, options(read, detail)?)
    }

    /// Reads, judges and executes what was named.
    pub(crate) fn replay(paths: &[PathBuf], partial: bool, plan: ReplayPlan) -> Result<Self, Failure> {
        let detail = Detail::Windows;
        Run::with(pipeline::verify, paths, VerifyOptions { detail, partial, previous: None, replay: Some(plan) })
    }
}

impl Run<Receipt> {
    /// Reads and judges what was named, for a report that shows no hash.
    pub(crate) fn judge(paths: &[PathBuf], read: &ReadArgs, detail: Detail) -> Result<Self, Failure> {
        Run::with(pipeline::judge, paths, options(read, detail)?)
    }
}

fn options(read: &ReadArgs, detail: Detail) -> Result<VerifyOptions, Failure> {
    let previous = previous::load(read.previous.as_deref())?;
    let plan = || ReplayPlan { targets: read.replay_targets, ..ReplayPlan::default() };
    let replay = (!read.no_replay).then(plan);
    Ok(VerifyOptions { detail, partial: read.partial, previous, replay })
}

impl<R: AsRef<Receipt>> Run<R> {
    fn with(take: Take<R>, paths: &[PathBuf], options: VerifyOptions) -> Result<Self, Failure> {
        let disk = Disk::default();
        let inputs: Vec<_> = paths.iter().map(|path| Disk::name(path)).collect();
        let partial = options.partial;
        let verified = watched(take, &disk, &inputs, options)?;
        let names: Vec<String> = inputs.iter().map(ToString::to_string).collect();
        Ok(Run { disk, inputs, partial, subject: names.join(" "), verified })
    }

    /// The source of what was found.
    pub(crate) fn excerpts(&self, style: Style) -> Result<Vec<Vec<Excerpt>>, Failure> {
        let renderer = terminal::renderer(style);
        Ok(self.disk.progress.during(|| pipeline::excerpts(&self.disk, &self.verified, &renderer))?)
    }

    /// The events that pictures show, of a window or of those that the errors are in.
    pub(crate) fn timeline(&self, window: Option<u64>) -> Result<Timeline, Failure> {
        let timeline = || pipeline::timeline(&self.disk, &self.inputs, self.partial, &self.verified, window);
        Ok(self.disk.progress.during(timeline)?)
    }

    /// Whether a path names a file that was read.
    pub(crate) fn has_read(&self, path: &Path) -> bool {
        self.disk.has_read(path)
    }

    /// What a report is made of.
    pub(crate) fn shown<'a>(&'a self, excerpts: &'a [Vec<Excerpt>]) -> Shown<'a> {
        Shown { receipt: self.verified.sealed.as_ref(), subject: &self.subject, excerpts }
    }

    /// What `receipt verify` prints for people.
    pub(crate) fn text(&self, style: Style) -> Result<String, Failure> {
        let excerpts = self.excerpts(style)?;
        Ok(verdict::text(&self.shown(&excerpts), style))
    }

    /// A report for other tools.
    pub(crate) fn for_tools(&self, format: fn(&Checked<'_>) -> String) -> Result<Vec<u8>, Failure> {
        let excerpts = self.excerpts(Style::plain(terminal::ELSEWHERE))?;
        let folders = repository::folders();
        Ok(format(&Checked { shown: self.shown(&excerpts), inputs: &self.inputs, folders: &folders }).into_bytes())
    }

    /// What CI sees.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self.verified.sealed.as_ref().verdict {
            Verdict::Verified => ExitCode::SUCCESS,
            Verdict::Violated => ExitCode::from(1),
            Verdict::Rejected => ExitCode::from(3),
        }
    }
}

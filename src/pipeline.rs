//! All control flow: what a command does, from names to a sealed receipt.
mod timeline;

pub use timeline::timeline;

use crate::align::EventStream;
use crate::canonical::{CanonicalError, Count};
use crate::finding::{self, Code, Findings, Folded};
use crate::judge::{self, Declared};
use crate::manifest::contract::Contract;
use crate::manifest::locate::{Wanted, locate};
use crate::manifest::read::{self, RankDigest, RankStream, ReadError};
use crate::manifest::replay::{Recompute, ReplayOptions};
use crate::manifest::resume::Resume;
use crate::manifest::source::{SourceName, Sources};
use crate::manifest::window::Indexed;
use crate::manifest::{self, Layout, Opened};
use crate::numeric::rounding::Arithmetic;
use crate::receipt::document::{Detail, Input, Options, RankInput, Receipt};
use crate::receipt::{Builder, Sealed};
use crate::replay::{DEFAULT_TARGETS, Recipe, Request};
use crate::report::Excerpt;
use crate::rules::tail::resume_differs;
use annotate_snippets::Renderer;
use std::fmt;
use std::num::NonZero;
use std::sync::Arc;
use std::thread;

/// How a run is verified.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// How much the receipt holds.
    pub detail: Detail,
    /// Whether the run still goes on or crashed, so that its open end is left out.
    pub partial: bool,
    /// The receipt of the run that this one resumes.
    pub previous: Option<Sealed>,
    /// What is executed; `None` for nothing.
    pub replay: Option<ReplayPlan>,
}

/// What a replay takes, and who is told how far it is.
#[derive(Clone)]
pub struct ReplayPlan {
    /// Targets of all windows together.
    pub targets: u64,
    /// The seed of the decoder and its rows, where it is not the manifest's.
    pub seed: Option<Count>,
    /// The arithmetic to emulate, where it is not the contract's.
    pub precision: Option<Arithmetic>,
    /// What to recompute, where it is not as the manifest says; no number that is judged depends on it.
    pub recompute: Option<Recompute>,
    /// The recipes that are executed on the worst windows.
    pub recipes: Vec<Recipe>,
    /// Threads; they change no bit.
    pub threads: usize,
    /// Is told how many of how many targets are done, those of the recipes among them.
    pub progress: Arc<dyn Fn(u64, u64) + Send + Sync>,
}

impl Default for ReplayPlan {
    /// As `receipt verify` does it.
    fn default() -> Self {
        ReplayPlan {
            targets: DEFAULT_TARGETS,
            seed: None,
            precision: None,
            recompute: None,
            recipes: Recipe::ALL.to_vec(),
            threads: thread::available_parallelism().map_or(1, NonZero::get),
            progress: Arc::new(|_, _| {}),
        }
    }
}

impl ReplayPlan {
    /// The manifest's decoder, with what the plan has otherwise.
    fn model(&self, manifest: &ReplayOptions) -> ReplayOptions {
        ReplayOptions {
            seed: self.seed.unwrap_or(manifest.seed),
            recompute: self.recompute.unwrap_or(manifest.recompute),
            ..manifest.clone()
        }
    }
}

impl fmt::Debug for ReplayPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayPlan")
            .field("targets", &self.targets)
            .field("recipes", &self.recipes)
            .finish_non_exhaustive()
    }
}

/// Why a run could not be verified at all.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// What was named can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The receipt can't be written canonically; a bug of ours.
    #[error("the receipt is not canonical")]
    Canonical(#[from] CanonicalError),
}

/// A verified, violated or rejected run; one that is only looked at need not be sealed.
#[derive(Debug)]
pub struct Verified<R = Sealed> {
    /// The receipt.
    pub sealed: R,
    /// Its findings with all the instances that were kept, in the receipt's order.
    pub findings: Vec<(Folded, Option<Code>)>,
    /// Where the run's parts stand, for showing places in files.
    pub layout: Layout,
}

/// Reads, judges and seals one run.
///
/// # Errors
///
/// If what is named can't be read at all; what is wrong in it is among the findings.
pub fn verify(
    sources: &dyn Sources,
    inputs: &[SourceName],
    options: &VerifyOptions,
) -> Result<Verified, PipelineError> {
    let Verified { sealed: receipt, findings, layout } = judge(sources, inputs, options)?;
    Ok(Verified { sealed: Sealed::new(receipt)?, findings, layout })
}

/// Reads and judges one run, whose receipt has no hash: for a report, a third of the time that a long run takes is saved.
///
/// # Errors
///
/// As [`verify`].
pub fn judge(
    sources: &dyn Sources,
    inputs: &[SourceName],
    options: &VerifyOptions,
) -> Result<Verified<Receipt>, PipelineError> {
    let Opened { contract, replay, resume, streams, mut findings, layout } =
        manifest::open_run(sources, inputs, options.partial)?;
    check_resume(resume.as_ref(), options.previous.as_ref(), &mut findings);
    let mut builder = Builder::new(options.detail);
    let (judgement, streams) = match &contract {
        Some(contract) => {
            let declared = Declared { contract, resume: resume.as_ref(), partial: options.partial };
            let model = options.replay.as_ref().map(|plan| plan.model(&replay));
            let request = options.replay.as_ref().zip(model.as_ref()).map(|(plan, model)| Request {
                options: model,
                precision: plan.precision,
                targets: plan.targets,
                recipes: &plan.recipes,
                threads: plan.threads,
                lists_windows: options.detail >= Detail::Windows,
                progress: &*plan.progress,
            });
            judge::judge(declared, request, streams, findings, |judged, agrees| builder.window(judged, agrees))
        }
        None => judge::reject(streams, findings),
    };
    let ranks = streams.into_iter().map(RankStream::digest).collect::<Result<Vec<_>, _>>()?;
    let input = match (&contract, judgement.facts()) {
        (Some(contract), Some(_)) => input(contract, resume.as_ref(), &replay, &ranks)?,
        _ => Input { raw_sha256: Some(read::raw_sha256(sources, inputs)?), ..Input::default() },
    };
    let receipt = builder.receipt(input, receipt_options(options), contract.as_ref(), &judgement);
    let findings = finding::in_order(judgement.into_findings().into_folded());
    Ok(Verified { sealed: receipt, findings, layout })
}

impl EventStream for RankStream {
    fn rank(&self) -> u64 {
        RankStream::rank(self)
    }

    fn next(&mut self, findings: &mut Findings) -> Option<Indexed> {
        RankStream::next(self, findings)
    }
}

fn receipt_options(options: &VerifyOptions) -> Options {
    Options {
        detail: options.detail,
        replay: options.replay.is_some(),
        replay_targets: options.replay.as_ref().map_or(Count::ZERO, |plan| Count::saturating(plan.targets)),
        partial: options.partial,
        previous: options.previous.as_ref().map(Sealed::hash),
    }
}

/// A resume must be what the previous receipt says was carried (GA602).
fn check_resume(resume: Option<&Resume>, previous: Option<&Sealed>, findings: &mut Findings) {
    let Some(previous) = previous else { return };
    findings.extend(resume_differs(resume, &previous.receipt().carried, &previous.hash()));
}

fn input(
    contract: &Contract,
    resume: Option<&Resume>,
    replay: &ReplayOptions,
    ranks: &[RankDigest],
) -> Result<Input, CanonicalError> {
    let sha256 = read::input_sha256(contract, resume, replay, ranks)?;
    let counted = |value| Count::new(value).expect("bug: more than 2^53 events were read");
    let ranks = ranks
        .iter()
        .map(|rank| RankInput { rank: counted(rank.rank), events: counted(rank.events), events_sha256: rank.sha256 })
        .collect();
    Ok(Input { sha256: Some(sha256), ranks, raw_sha256: None })
}

/// The pieces of source that the findings are about, by finding: of a malformed manifest every instance that was kept,
/// of a judged run the worst.
///
/// # Errors
///
/// If a source can't be read any more.
pub fn excerpts<R>(
    sources: &dyn Sources,
    verified: &Verified<R>,
    renderer: &Renderer,
) -> Result<Vec<Vec<Excerpt>>, ReadError> {
    let instances: Vec<(usize, Wanted<'_>)> = verified
        .findings
        .iter()
        .enumerate()
        .flat_map(|(at, (folded, _))| shown(folded).into_iter().map(move |wanted| (at, wanted)))
        .collect();
    let wanted: Vec<Wanted<'_>> = instances.iter().map(|(_, wanted)| *wanted).collect();
    let mut excerpts = vec![vec![]; verified.findings.len()];
    let located = locate(sources, &verified.layout, &wanted)?;
    for ((at, wanted), location) in instances.into_iter().zip(located) {
        let severity = verified.findings[at].0.severity;
        let render = |location| manifest::snippet(severity, wanted.code, wanted.message, Some(location), renderer);
        excerpts[at].push(Excerpt {
            message: wanted.message.to_owned(),
            place: wanted.place.clone(),
            snippet: location.as_ref().map(render).unwrap_or_default(),
            location,
        });
    }
    Ok(excerpts)
}

/// The instances of a finding that are shown with their source.
fn shown(folded: &Folded) -> Vec<Wanted<'_>> {
    let code = folded.code;
    match code.rejects() {
        true => folded.instances.iter().map(|(place, message)| Wanted { code, place, message }).collect(),
        false => vec![Wanted { code, place: &folded.place, message: &folded.message }],
    }
}

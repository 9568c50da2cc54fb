//! The command line's definition.
use crate::exit_status;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use clap_complete::Shell;
use receipt::canonical::Count;
use receipt::manifest::replay::Recompute;
use receipt::replay::{DEFAULT_TARGETS, Recipe};
use receipt::report::schedule::LONGEST;
use std::path::PathBuf;

/// Proves from what a training loop recorded that gradient accumulation made the update one big batch would have made.
#[derive(Debug, Parser)]
#[command(name = "receipt", version, propagate_version = true, disable_help_subcommand = true)]
#[command(after_help = exit_status::help())]
pub(crate) struct Cli {
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value = "auto")]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read, check and judge a run; print a short verdict.
    Verify(VerifyArgs),
    /// Say what a run did, what it means and what to change; or show a rule's page.
    Explain(ExplainArgs),
    /// Execute the recorded events on a small decoder, beside the full batch and known wrong recipes.
    Replay(ReplayArgs),
    /// Check that a receipt's hash holds and, with the manifest, that it can be derived again.
    Check(CheckArgs),
    /// Say where two receipts first differ, and what changed.
    Diff(DiffArgs),
    /// Write the rank manifest that references a run's microbatch manifests by their hashes.
    Bind(BindArgs),
    /// List all rules.
    Rules,
    /// Plan recomputation of a chain of steps: uniform blocks and binomial snapshots, as table and curve.
    Schedule(ScheduleArgs),
    /// Ask the embedded engine every known answer and print it beside what is expected.
    Selfcheck(SelfcheckArgs),
    /// Print a JSON Schema.
    Schema(SchemaArgs),
    /// Print a script that completes commands and options in a shell.
    Completions {
        /// Which shell.
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print a manual page.
    Man {
        /// Of this command; without it, of the whole.
        #[arg(value_name = "COMMAND")]
        of: Option<String>,
    },
}

/// How a manifest is read and judged.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReadArgs {
    /// The run still goes on or crashed: leave out the window that is still open.
    #[arg(long)]
    pub(crate) partial: bool,
    /// The receipt of the run that this one resumes.
    #[arg(long, value_name = "RECEIPT")]
    pub(crate) previous: Option<PathBuf>,
    /// Do not execute the recorded events: judge by arithmetic and order alone.
    #[arg(long)]
    pub(crate) no_replay: bool,
    /// How many targets a replay may take; of a longer run it takes the windows that matter most.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_TARGETS, conflicts_with = "no_replay")]
    pub(crate) replay_targets: u64,
}

#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// One run: a rank manifest, or all its microbatch manifests; `-` is standard input.
    #[arg(required = true, value_name = "MANIFEST")]
    pub(crate) manifests: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// Write the receipt to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) receipt: Option<PathBuf>,
    /// How much the receipt holds.
    #[arg(long, value_enum, default_value = "full")]
    pub(crate) detail: DetailArg,
    /// What to print.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: VerifyFormat,
    /// Store a rejected manifest's receipt in this folder, every identifier replaced, named by its hash.
    #[arg(long, value_name = "DIR")]
    pub(crate) archive_rejected: Option<PathBuf>,
    /// Exit with 0 whatever the verdict; unreadable files still exit with 2.
    #[arg(long)]
    pub(crate) exit_zero: bool,
}

/// How much a receipt holds.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DetailArg {
    /// Totals, diagnosis and findings.
    Summary,
    /// And every window.
    Windows,
    /// And every microbatch.
    Full,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum VerifyFormat {
    /// Findings and verdict, for people.
    Text,
    /// The receipt.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// JUnit XML: a test case for each rule.
    Junit,
    /// Annotations of GitHub Actions.
    Github,
    /// GitLab's Code Quality report.
    Gitlab,
}

#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// A manifest (or all of a run's), a receipt, a rule's code or name, or a recipe's name.
    #[arg(required = true, value_name = "MANIFEST|RECEIPT|RULE|RECIPE")]
    pub(crate) subjects: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// What to write.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ExplainFormat,
    /// Show this window, microbatch by microbatch.
    #[arg(long, value_name = "N")]
    pub(crate) window: Option<u64>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ExplainFormat {
    /// For a terminal.
    Text,
    /// For a pull request.
    Markdown,
    /// One file with pictures, for a browser or a printer.
    Html,
}

#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// One run, as for `verify`; without any, the nine-target example.
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifests: Vec<PathBuf>,
    /// Rows of a microbatch of the nine-target example, 1 to 3.
    #[arg(long, value_name = "N", conflicts_with = "manifests", value_parser = value_parser!(u8).range(1..=3))]
    pub(crate) rows_per_microbatch: Option<u8>,
    /// The run still goes on or crashed: leave out the window that is still open.
    #[arg(long)]
    pub(crate) partial: bool,
    /// How many targets are executed; of a longer run the windows that matter most are.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_TARGETS)]
    pub(crate) replay_targets: u64,
    /// The arithmetic to emulate instead of the contract's.
    #[arg(long, value_enum)]
    pub(crate) precision: Option<PrecisionArg>,
    /// The seed of decoder and rows instead of the manifest's.
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(..=Count::MAX.get()))]
    pub(crate) seed: Option<u64>,
    /// What to run again in the reverse sweep instead of what the manifest says: none, blocks, every=K blocks, or
    /// snapshots=S at a time. It changes what is retained and no number that is judged.
    #[arg(long, value_name = "PLAN")]
    pub(crate) recompute: Option<Recompute>,
    /// Execute this wrong recipe on the worst windows; may be given several times. All of them where it is not given.
    #[arg(long, value_name = "NAME", value_parser = recipes())]
    pub(crate) recipe: Vec<Recipe>,
    /// What to print: tables for people, or the receipt's `replay`.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: PlainFormat,
}

/// A recipe by its name.
fn recipes() -> impl TypedValueParser<Value = Recipe> {
    let known = |name: String| Recipe::named(&name).expect("bug: a name that clap let in");
    PossibleValuesParser::new(Recipe::ALL.map(Recipe::name)).map(known)
}

/// An arithmetic to emulate.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PrecisionArg {
    Float64,
    Float32,
    Bfloat16,
    Float16,
}

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The receipt.
    pub(crate) receipt: PathBuf,
    /// The manifest from which to derive it again (or all of the run's).
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifests: Vec<PathBuf>,
    /// The receipt of the run that this one resumes.
    #[arg(long, value_name = "RECEIPT")]
    pub(crate) previous: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct BindArgs {
    /// All microbatch manifests of one run, in any order, plain or compressed; in the rank manifest's folder or below.
    #[arg(required = true, value_name = "MICROBATCHES")]
    pub(crate) manifests: Vec<PathBuf>,
    /// The run still goes on or crashed: let a torn last line be.
    #[arg(long)]
    pub(crate) partial: bool,
    /// Write the rank manifest to this file; without it, to standard output, for a file in the current folder.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct ScheduleArgs {
    /// Steps of the chain.
    #[arg(long, value_name = "L", value_parser = clap::value_parser!(u64).range(1..=LONGEST))]
    pub(crate) depth: u64,
    /// Show this block alone.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=LONGEST))]
    pub(crate) block: Option<u64>,
    /// Show this number of snapshots alone, the chain's input among them.
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=LONGEST))]
    pub(crate) snapshots: Option<u64>,
    /// What to print.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ScheduleFormat,
}

#[derive(Args, Debug)]
pub(crate) struct SelfcheckArgs {
    /// What to print.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: PlainFormat,
}

#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// A receipt.
    pub(crate) left: PathBuf,
    /// Another.
    pub(crate) right: PathBuf,
    /// What to write.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: PlainFormat,
}

/// What a schedule is printed as.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ScheduleFormat {
    /// Tables and curves of characters.
    Text,
    /// For programs.
    Json,
    /// The picture alone, as a file by itself.
    Svg,
    /// The picture and the tables, as one file.
    Html,
}

/// For people or for programs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PlainFormat {
    Text,
    Json,
}

#[derive(Args, Debug)]
pub(crate) struct SchemaArgs {
    /// Of which document.
    #[arg(value_enum)]
    pub(crate) document: Document,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Document {
    /// A rank manifest.
    Manifest,
    /// A line of a microbatch manifest.
    Microbatches,
    /// A receipt.
    Receipt,
}

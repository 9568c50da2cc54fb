//! `receipt replay`.
use crate::cli::{Color, PlainFormat, PrecisionArg, ReplayArgs};
use crate::failure::Failure;
use crate::output;
use crate::run::Run;
use crate::terminal;
use receipt::canonical::{self, Count};
use receipt::numeric::rounding::Arithmetic;
use receipt::pipeline::ReplayPlan;
use receipt::receipt::document::Verdict;
use receipt::report::{self, Style, execution, verdict};
use receipt::selfcheck::example::Example;
use serde::Serialize;
use std::process::ExitCode;

pub(crate) fn run(args: &ReplayArgs, color: Color) -> Result<ExitCode, Failure> {
    let style = terminal::style(color);
    if args.manifests.is_empty() {
        return nine_targets(args, style);
    }
    let run = Run::replay(&args.manifests, args.partial, plan(args))?;
    let receipt = run.verified.sealed.receipt();
    let (Some(replay), true) = (&receipt.replay, receipt.verdict != Verdict::Rejected) else {
        let excerpts = run.excerpts(style)?;
        output::print(verdict::text(&run.shown(&excerpts), style).as_bytes()).map_err(Failure::Print)?;
        return Ok(run.exit_code());
    };
    print(args.format, replay, |replay| execution::text(replay, style))?;
    Ok(exit_code(replay.agrees))
}

/// Without a run: the example that is known in every digit.
fn nine_targets(args: &ReplayArgs, style: Style) -> Result<ExitCode, Failure> {
    let example = Example::run(usize::from(args.rows_per_microbatch.unwrap_or(2)));
    print(args.format, &example, |example| report::example::text(example, style))?;
    Ok(exit_code(example.agrees))
}

/// As text, or as one line of canonical JSON.
fn print<T: Serialize>(format: PlainFormat, document: &T, text: impl Fn(&T) -> String) -> Result<(), Failure> {
    let printed = match format {
        PlainFormat::Text => text(document).into_bytes(),
        PlainFormat::Json => [canonical::to_vec(document).map_err(Failure::from)?, b"\n".to_vec()].concat(),
    };
    output::print(&printed).map_err(Failure::Print)
}

fn exit_code(agrees: bool) -> ExitCode {
    if agrees { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

fn plan(args: &ReplayArgs) -> ReplayPlan {
    let precision = args.precision.map(|precision| match precision {
        PrecisionArg::Float64 => Arithmetic::Float64,
        PrecisionArg::Float32 => Arithmetic::Float32,
        PrecisionArg::Bfloat16 => Arithmetic::Bfloat16,
        PrecisionArg::Float16 => Arithmetic::Float16,
    });
    let seed = args.seed.map(|seed| Count::new(seed).expect("bug: a seed that clap let in"));
    let all = ReplayPlan {
        targets: args.replay_targets,
        seed,
        precision,
        recompute: args.recompute,
        ..ReplayPlan::default()
    };
    if args.recipe.is_empty() { all } else { ReplayPlan { recipes: args.recipe.clone(), ..all } }
}

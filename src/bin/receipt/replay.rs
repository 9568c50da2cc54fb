//! `receipt replay`.
use crate::cli::{Color, PrecisionArg, ReplayArgs};
use crate::failure::Failure;
use crate::output;
use crate::run::Run;
use crate::terminal;
use receipt::canonical::Count;
use receipt::numeric::rounding::Arithmetic;
use receipt::pipeline::ReplayPlan;
use receipt::receipt::document::Verdict;
use receipt::report::{self, Style, execution};
use receipt::selfcheck::example::Example;
use std::process::ExitCode;

pub(crate) fn run(args: &ReplayArgs, color: Color) -> Result<ExitCode, Failure> {
    let style = terminal::style(color);
    if args.manifests.is_empty() {
        return nine_targets(args, style);
    }
    let run = Run::replay(&args.manifests, args.partial, plan(args))?;
    let receipt = run.verified.sealed.receipt();
    let (Some(replay), true) = (&receipt.replay, receipt.verdict != Verdict::Rejected) else {
        output::print(run.text(style)?.as_bytes()).map_err(Failure::Print)?;
        return Ok(run.exit_code());
    };
    output::document(args.format, replay, |replay| execution::text(replay, style))?;
    Ok(exit_code(replay.agrees))
}

/// Without a run: the example that is known in every digit.
fn nine_targets(args: &ReplayArgs, style: Style) -> Result<ExitCode, Failure> {
    let example = Example::run(usize::from(args.rows_per_microbatch.unwrap_or(2)));
    output::document(args.format, &example, |example| report::example::text(example, style))?;
    Ok(exit_code(example.agrees))
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

//! `receipt replay`.
use crate::cli::{Color, PrecisionArg, ReplayArgs, ReplayFormat};
use crate::failure::Failure;
use crate::output;
use crate::run::Run;
use crate::terminal;
use receipt::canonical::{self, Count};
use receipt::numeric::rounding::Arithmetic;
use receipt::pipeline::ReplayPlan;
use receipt::receipt::document::Verdict;
use receipt::replay::ReplayReport;
use receipt::report::{self, Style, execution, verdict};
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
        let excerpts = run.excerpts(style)?;
        output::print(verdict::text(&run.shown(&excerpts), style).as_bytes()).map_err(Failure::Print)?;
        return Ok(run.exit_code());
    };
    let text = match args.format {
        ReplayFormat::Text => execution::text(replay, style).into_bytes(),
        ReplayFormat::Json => [canonical::to_vec(replay).map_err(Failure::from)?, b"\n".to_vec()].concat(),
    };
    output::print(&text).map_err(Failure::Print)?;
    Ok(exit_code(replay))
}

/// Without a run: the example that is known in every digit.
fn nine_targets(args: &ReplayArgs, style: Style) -> Result<ExitCode, Failure> {
    let example = Example::run(usize::from(args.rows_per_microbatch.unwrap_or(2)));
    let text = match args.format {
        ReplayFormat::Text => report::example::text(&example, style).into_bytes(),
        ReplayFormat::Json => [canonical::to_vec(&example).map_err(Failure::from)?, b"\n".to_vec()].concat(),
    };
    output::print(&text).map_err(Failure::Print)?;
    Ok(if example.agrees { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn exit_code(replay: &ReplayReport) -> ExitCode {
    if replay.agrees { ExitCode::SUCCESS } else { ExitCode::from(1) }
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

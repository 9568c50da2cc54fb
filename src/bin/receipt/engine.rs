//! `receipt schedule` and `receipt selfcheck`: the engine by itself, without a manifest.
use crate::cli::{Color, ScheduleArgs, ScheduleFormat, SelfcheckArgs};
use crate::failure::Failure;
use crate::output;
use crate::terminal;
use receipt::report;
use receipt::report::schedule::Schedule;
use receipt::selfcheck;
use std::process::ExitCode;

pub(crate) fn schedule(args: &ScheduleArgs, color: Color) -> Result<ExitCode, Failure> {
    let schedule = Schedule::new(args.depth, args.block, args.snapshots);
    let printed = match args.format {
        ScheduleFormat::Text => report::schedule::text(&schedule, terminal::style(color)),
        ScheduleFormat::Json => report::json::pretty(&schedule),
        ScheduleFormat::Svg => report::figure::recompute::figure(&schedule).svg(),
        ScheduleFormat::Html => report::html::schedule(&schedule),
    };
    output::print(printed.as_bytes()).map_err(Failure::Print)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn selfcheck(args: &SelfcheckArgs, color: Color) -> Result<ExitCode, Failure> {
    let answers = selfcheck::run();
    output::document(args.format, &answers, |answers| report::selfcheck::text(answers, terminal::style(color)))?;
    Ok(ExitCode::from(code(answers.agrees)))
}

/// 1 where anything differs.
fn code(agrees: bool) -> u8 {
    u8::from(!agrees)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_1() {
        assert_eq!((code(true), code(false)), (0, 1));
    }
}

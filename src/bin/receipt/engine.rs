//! `receipt schedule` and `receipt selfcheck`: the engine by itself, without a manifest.
use crate::cli::{Color, PlainFormat, ScheduleArgs, SelfcheckArgs};
use crate::failure::Failure;
use crate::output;
use crate::terminal;
use receipt::report;
use receipt::report::schedule::Schedule;
use receipt::selfcheck;
use serde::Serialize;
use std::process::ExitCode;

pub(crate) fn schedule(args: &ScheduleArgs, color: Color) -> Result<ExitCode, Failure> {
    let schedule = Schedule::new(args.depth, args.block, args.snapshots);
    print(args.format, &schedule, |schedule| report::schedule::text(schedule, terminal::style(color)))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn selfcheck(args: &SelfcheckArgs, color: Color) -> Result<ExitCode, Failure> {
    let answers = selfcheck::run();
    print(args.format, &answers, |answers| report::selfcheck::text(answers, terminal::style(color)))?;
    Ok(ExitCode::from(code(answers.agrees)))
}

/// 1 where anything differs.
fn code(agrees: bool) -> u8 {
    u8::from(!agrees)
}

fn print<T: Serialize>(format: PlainFormat, document: &T, text: impl Fn(&T) -> String) -> Result<(), Failure> {
    let printed = match format {
        PlainFormat::Text => text(document),
        PlainFormat::Json => {
            serde_json::to_string_pretty(document).expect("bug: a document without maps cannot be written") + "\n"
        }
    };
    output::print(printed.as_bytes()).map_err(Failure::Print)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_1() {
        assert_eq!((code(true), code(false)), (0, 1));
    }
}

//! The command: arguments in, bytes out, an exit code.
#![allow(clippy::disallowed_methods, reason = "the binary is what opens files")]
mod bind;
mod check;
mod cli;
mod diff;
mod engine;
mod exit_status;
mod explain;
mod failure;
mod kind;
mod manual;
mod output;
mod previous;
mod progress;
mod reference;
mod refuse;
mod replay;
mod repository;
mod run;
mod sources;
mod terminal;
mod verify;

use clap::Parser;
use cli::{Cli, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Cli { color, command } = Cli::parse();
    let done = match &command {
        Command::Verify(args) => verify::run(args, color),
        Command::Explain(args) => explain::run(args, color),
        Command::Replay(args) => replay::run(args, color),
        Command::Check(args) => check::run(args),
        Command::Diff(args) => diff::run(args, color),
        Command::Bind(args) => bind::run(args, color),
        Command::Rules => reference::rules(color),
        Command::Schedule(args) => engine::schedule(args, color),
        Command::Selfcheck(args) => engine::selfcheck(args, color),
        Command::Schema(args) => reference::schema(args),
        Command::Completions { shell } => manual::completions(*shell),
        Command::Man { of } => manual::page(of.as_deref()),
    };
    done.unwrap_or_else(|failure| failure.report())
}

//! The command: arguments in, bytes out, an exit code.
mod check;
mod cli;
mod failure;
mod output;
mod previous;
mod sources;
mod verify;

use clap::Parser;
use cli::{Cli, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.command {
        Command::Verify(args) => verify::run(args, cli.color),
        Command::Check(args) => check::run(args),
        _ => todo!(),
    };
    done.unwrap_or_else(|failure| failure.report())
}

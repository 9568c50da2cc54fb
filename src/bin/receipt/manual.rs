//! `receipt completions` and `receipt man`: both made of the command line's own definition.
use crate::cli::Cli;
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;
use std::process::ExitCode;

pub(crate) fn completions(shell: Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "receipt", &mut script);
    print(&script)
}

pub(crate) fn page(of: Option<&str>) -> Result<ExitCode, Failure> {
    let mut whole = Cli::command();
    // Only a built command hands its version and its global options down, and names its parts `receipt-verify`.
    whole.build();
    let command = match of {
        None => whole,
        Some(word) => {
            let found = whole.get_subcommands().find(|command| command.get_name() == word);
            found.cloned().ok_or_else(|| Failure::NoSuchCommand { word: word.to_owned() })?
        }
    };
    let mut page = Vec::new();
    Man::new(command).render(&mut page).map_err(Failure::Print)?;
    print(&page)
}

fn print(bytes: &[u8]) -> Result<ExitCode, Failure> {
    output::print(bytes).map_err(Failure::Print)?;
    Ok(ExitCode::SUCCESS)
}

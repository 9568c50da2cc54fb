//! `receipt completions` and `receipt man`: both made of the command line's own definition.
use crate::cli::Cli;
use crate::exit_status::EXITS;
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory;
use clap::builder::Resettable;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
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
    let section = exit_status(of);
    // The exit status has a section of its own, and not what follows the help.
    let mut page = Vec::new();
    let manual = Man::new(command.after_help(Resettable::Reset)).source(PACKAGE).manual("receipt manual").date(NO_DATE);
    manual.render(&mut page).map_err(Failure::Print)?;
    let page = String::from_utf8(page).expect("bug: a manual page that is no text");
    let (start, end) = page.split_once(VERSION).expect("bug: a manual page without a version");
    print(format!("{start}{section}{VERSION}{end}").as_bytes())
}

/// What a manual page says it belongs to.
const PACKAGE: &str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));

/// An empty argument, which the renderer would leave out, so that the one after it would be the date.
const NO_DATE: &str = "\"\"";

/// Where the last section of a page begins.
const VERSION: &str = ".SH VERSION\n";

/// The section on exit codes, of one command or of all.
fn exit_status(of: Option<&str>) -> String {
    let mut section = Roff::new();
    section.control("SH", ["EXIT STATUS"]);
    for exit in &EXITS {
        let meaning = match of {
            None => exit.meaning(),
            Some("verify") => exit.verify.to_owned(),
            Some(_) => exit.others.unwrap_or(exit.verify).to_owned(),
        };
        section.control("TP", []).text([bold(exit.code.to_string())]).text([roman(meaning)]);
    }
    section.to_roff()
}

fn print(bytes: &[u8]) -> Result<ExitCode, Failure> {
    output::print(bytes).map_err(Failure::Print)?;
    Ok(ExitCode::SUCCESS)
}

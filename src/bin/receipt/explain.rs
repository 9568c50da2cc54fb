//! `receipt explain`: a run, a receipt or a rule.
use crate::cli::{Color, ExplainArgs, ExplainFormat};
use crate::failure::Failure;
use crate::output;
use crate::previous;
use crate::refuse;
use crate::run::Run;
use crate::terminal;
use receipt::finding::Code;
use receipt::receipt::check;
use receipt::receipt::document::Detail;
use receipt::report::{Shown, explain, page};
use receipt::rules;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(args: &ExplainArgs, color: Color) -> Result<ExitCode, Failure> {
    let style = terminal::style(color);
    if let Some(code) = rule(args) {
        print(page::page(rules::find(code), style))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let [subject] = args.subjects.as_slice()
        && is_receipt(subject)
    {
        return match check::read(&previous::read_file(subject)?) {
            Ok(sealed) => report(&Shown::new(sealed.receipt(), &subject.display().to_string()), args, color),
            Err(finding) => refuse::refuse(&finding),
        };
    }
    let run = Run::verify(&args.subjects, &args.read, Detail::Full)?;
    let excerpts = run.excerpts(style)?;
    report(&run.shown(&excerpts), args, color)
}

fn report(shown: &Shown<'_>, args: &ExplainArgs, color: Color) -> Result<ExitCode, Failure> {
    let text = match args.format {
        ExplainFormat::Text => explain::text(shown, args.window, terminal::style(color)),
        ExplainFormat::Markdown => explain::markdown(shown, args.window),
    };
    print(text?)?;
    Ok(ExitCode::SUCCESS)
}

fn print(text: String) -> Result<(), Failure> {
    output::print(text.as_bytes()).map_err(Failure::Print)
}

/// The rule that is meant, if one is and no file is called like it.
fn rule(args: &ExplainArgs) -> Option<Code> {
    let [subject] = args.subjects.as_slice() else { return None };
    if subject.exists() { None } else { subject.to_str()?.parse().ok() }
}

/// Whether a file begins as a canonical receipt does: its first key is `carried`.
fn is_receipt(path: &Path) -> bool {
    let mut start = String::new();
    let read = File::open(path).and_then(|file| file.take(64).read_to_string(&mut start));
    read.is_ok()
        && start.trim_start().strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with("\"carried\""))
}

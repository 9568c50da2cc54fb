//! `receipt explain`: a run, a receipt or a rule.
use crate::cli::{Color, ExplainArgs, ExplainFormat};
use crate::failure::Failure;
use crate::kind::{self, Kind};
use crate::output;
use crate::previous;
use crate::refuse;
use crate::run::Run;
use crate::terminal;
use receipt::finding::Code;
use receipt::receipt::document::Detail;
use receipt::report::timeline::Timeline;
use receipt::report::{Shown, Style, explain, html, page};
use receipt::rules;
use std::path::PathBuf;
use std::process::ExitCode;

pub(crate) fn run(args: &ExplainArgs, color: Color) -> Result<ExitCode, Failure> {
    let style = terminal::style(color);
    if let Some(word) = rule_word(&args.subjects) {
        return rule(word, args, style);
    }
    if let [subject] = args.subjects.as_slice()
        && kind::of(subject) == Some(Kind::Receipt)
    {
        return match previous::read(subject)? {
            Ok(sealed) => report(&Shown::new(sealed.receipt(), &subject.display().to_string()), None, args, color),
            Err(finding) => refuse::refuse(&finding),
        };
    }
    match args.format {
        // The page shows the receipt's hash, and pictures of events, which are in the manifest and not in the receipt.
        ExplainFormat::Html => {
            let run = Run::verify(&args.subjects, &args.read, Detail::Full)?;
            let excerpts = run.excerpts(style)?;
            report(&run.shown(&excerpts), Some(&run.timeline(args.window)?), args, color)
        }
        ExplainFormat::Text | ExplainFormat::Markdown => {
            let run = Run::judge(&args.subjects, &args.read, Detail::Full)?;
            report(&run.shown(&run.excerpts(style)?), None, args, color)
        }
    }
}

fn report(
    shown: &Shown<'_>,
    timeline: Option<&Timeline>,
    args: &ExplainArgs,
    color: Color,
) -> Result<ExitCode, Failure> {
    let text = match args.format {
        ExplainFormat::Html => html::report(shown, args.window, timeline),
        ExplainFormat::Text => explain::text(shown, args.window, terminal::style(color)),
        ExplainFormat::Markdown => explain::markdown(shown, args.window),
    };
    print(text?)?;
    Ok(ExitCode::SUCCESS)
}

fn print(text: String) -> Result<(), Failure> {
    output::print(text.as_bytes()).map_err(Failure::Print)
}

/// A rule's page.
fn rule(word: &str, args: &ExplainArgs, style: Style) -> Result<ExitCode, Failure> {
    let Ok(code) = word.parse::<Code>() else { return Err(Failure::NoSuchRule { word: word.to_owned() }) };
    if args.window.is_some() {
        return Err(Failure::WindowOfARule { code });
    }
    let rule = rules::find(code);
    print(match args.format {
        ExplainFormat::Html => html::rule(rule),
        ExplainFormat::Text => page::page(rule, style),
        ExplainFormat::Markdown => page::markdown(rule),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The subject where it is no file and can only be a rule's code or name: a word without a folder or an extension.
fn rule_word(subjects: &[PathBuf]) -> Option<&str> {
    let [subject] = subjects else { return None };
    let word = subject.to_str().filter(|word| !word.is_empty() && *word != "-" && !word.contains(['/', '\\', '.']))?;
    (!subject.exists()).then_some(word)
}

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
use receipt::report::page::Page;
use receipt::report::timeline::Timeline;
use receipt::report::{Shown, Style, explain, html, recipes};
use receipt::rules;
use std::path::PathBuf;
use std::process::ExitCode;

pub(crate) fn run(args: &ExplainArgs, color: Color) -> Result<ExitCode, Failure> {
    let style = terminal::style(color);
    if let Some(word) = word(&args.subjects) {
        return page_of(word, args, style);
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

/// The page of a rule or of a recipe.
fn page_of(word: &str, args: &ExplainArgs, style: Style) -> Result<ExitCode, Failure> {
    let rule = word.parse::<Code>().ok().map(|code| Page::of_rule(rules::find(code)));
    let Some(page) = rule.or_else(|| recipes::find(word).as_ref().map(Page::of_recipe)) else {
        return Err(Failure::NoSuchPage { word: word.to_owned() });
    };
    if args.window.is_some() {
        return Err(Failure::WindowOfAPage { name: word.to_owned() });
    }
    print(match args.format {
        ExplainFormat::Html => html::page(&page),
        ExplainFormat::Text => page.text(style),
        ExplainFormat::Markdown => page.markdown(),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The subject where it is no file and can only be a name: a recipe's, which may hold a factor, or a word without a
/// folder or an extension.
fn word(subjects: &[PathBuf]) -> Option<&str> {
    let [subject] = subjects else { return None };
    let is_word = |word: &&str| !word.is_empty() && *word != "-" && !word.contains(['/', '\\', '.']);
    let word = subject.to_str().filter(|word| is_word(word) || recipes::find(word).is_some())?;
    (!subject.exists()).then_some(word)
}

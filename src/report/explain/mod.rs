//! The drift report: what is wrong and what to change in three lines, then why, in the order in which a person asks.
//!
//! One file a question. A question whose answer the receipt does not hold says so.
mod change;
mod counterexample;
mod declared;
pub(in crate::report) mod drift;
mod evidence;
mod happened;
mod recipe;
#[cfg(test)]
mod tests;
pub(in crate::report) mod window;
mod worst;

use super::Shown;
use super::Style;
use super::execution;
use super::headline::Headline;
use super::layout::Block;
use super::layout::Line;
use super::layout::Role;
use super::layout::Section;
use super::layout::markdown;
use super::layout::prose;
use super::layout::text;
use super::words;
use crate::receipt::document::Receipt;
use crate::receipt::document::Verdict;

/// A window that was asked for and cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchWindow {
    /// The receipt does not hold it.
    #[error("the run has no window {asked}: it has {has}")]
    Unknown {
        /// The one that was asked for.
        asked: u64,
        /// Those that are there, in words.
        has: String,
    },
    /// The receipt holds no microbatches.
    #[error("the receipt holds no single microbatches (`--detail full` has them)")]
    NoDetail,
}

/// The report for a terminal: of the run, or of one window microbatch by microbatch.
pub fn text(shown: &Shown<'_>, window: Option<u64>, style: Style) -> Result<String, NoSuchWindow> {
    let sections = sections(shown, window)?;
    let mut out: String = top(shown).iter().map(|line| text::unbroken(line, style)).collect();
    out.push('\n');
    out.push_str(&text::sections(&sections, style));
    Ok(out)
}

/// The same as GitHub's Markdown.
pub fn markdown(shown: &Shown<'_>, window: Option<u64>) -> Result<String, NoSuchWindow> {
    let sections = sections(shown, window)?;
    let top: Vec<String> = top(shown).iter().map(|line| format!("{}\n", markdown::line(line))).collect();
    Ok(top.join("\n") + &markdown::sections(&sections))
}

/// The first lines, never broken: the verdict, what is wrong, what to change; or the verdict, what it means, and what
/// may be changed.
fn top(shown: &Shown<'_>) -> Vec<Line> {
    let headline = Headline::of(shown.receipt);
    let (role, word) = match shown.receipt.verdict {
        Verdict::Verified => (Role::Good, "verified"),
        Verdict::Violated => (Role::Error, "violated"),
        Verdict::Rejected => (Role::Error, "rejected"),
    };
    let verdict = Line::new().with(role, word).text(": ").name(shown.subject);
    let advice = |label: &str, text: &str| Line::new().strong(label).text(" ").join(prose::spans(text));
    let Some(change) = headline.change else {
        let optional = headline.optional.map(|text| advice("What you may change:", &text));
        return [verdict, headline.sentence.into()].into_iter().chain(optional).collect();
    };
    let wrong = Line::new().strong("What is wrong:").text(format!(" {}", headline.sentence));
    vec![verdict, wrong, advice("What to change:", &change)]
}

/// What a section answers, for formats that add pictures to some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Declared,
    Happened,
    Recipe,
    HowMuch,
    Execution,
    Where,
    Change,
    Counterexample,
    Evidence,
    Limitations,
    Window,
}

/// The sections, with what they answer: of the run, or of one window.
pub(super) fn questions(shown: &Shown<'_>, window: Option<u64>) -> Result<Vec<(Question, Section)>, NoSuchWindow> {
    let receipt = shown.receipt;
    if let Some(window) = window {
        return window::section(receipt, window).map(|section| vec![(Question::Window, section)]);
    }
    let sections = [
        (Question::Declared, declared::section(receipt)),
        (Question::Happened, happened::section(receipt)),
        (Question::Recipe, recipe::section(receipt)),
        (Question::HowMuch, drift::section(receipt)),
        (Question::Execution, execution::section(receipt)),
        (Question::Where, worst::section(shown)),
        (Question::Change, change::section(receipt)),
        (Question::Counterexample, counterexample::section(receipt)),
        (Question::Evidence, evidence::section(receipt)),
        (Question::Limitations, Some(limitations(receipt))),
    ];
    Ok(sections.into_iter().filter_map(|(question, section)| Some((question, section?))).collect())
}

fn sections(shown: &Shown<'_>, window: Option<u64>) -> Result<Vec<Section>, NoSuchWindow> {
    Ok(questions(shown, window)?.into_iter().map(|(_, section)| section).collect())
}

/// Limitations, but for those about evidence, which have been said with it.
fn limitations(receipt: &Receipt) -> Section {
    let others = receipt.limitations.iter().filter(|text| !text.starts_with("evidence of kind "));
    let items = others.map(|text| (0, words::sentence(text).into())).collect();
    Section::new("What this does not say").with(Block::List(items))
}

//! The drift report as one HTML file: no script, nothing from elsewhere, for a screen, dark or light, and for paper.
//!
//! Invariants: the page carries a policy under which a browser loads nothing; every text is made harmless and then set by
//! `maud`, which escapes it.
#[cfg(test)]
mod tests;

use super::Shown;
use super::explain;
use super::explain::NoSuchWindow;
use super::explain::Question;
use super::figure;
use super::figure::Figure;
use super::headline::Headline;
use super::layout::Block;
use super::layout::Section;
use super::layout::html;
use super::layout::prose;
use super::page::Page;
use super::schedule;
use super::schedule::Schedule;
use super::timeline::Timeline;
use super::visible;
use super::words;
use crate::receipt::document::Receipt;
use crate::receipt::document::Verdict;
use maud::DOCTYPE;
use maud::Markup;
use maud::PreEscaped;

/// The page's style sheet, after that of its pictures.
const STYLE: &str = include_str!("page.css");

/// Nothing is loaded and nothing is run, whatever might have been smuggled in.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The report: of the run, or of one window microbatch by microbatch. Without a timeline, as of a receipt alone, there are
/// no pictures of events.
///
/// # Errors
///
/// If a window is asked for that the receipt does not hold.
pub fn report(shown: &Shown<'_>, window: Option<u64>, timeline: Option<&Timeline>) -> Result<String, NoSuchWindow> {
    let receipt = shown.receipt;
    let mut parts = explain::questions(shown, window)?;
    for (_, section) in &mut parts {
        without_text_pictures(section);
    }
    let headline = Headline::of(receipt);
    let (class, word) = match receipt.verdict {
        Verdict::Verified => ("good", "verified"),
        Verdict::Violated => ("error", "violated"),
        Verdict::Rejected => ("error", "rejected"),
    };
    let subject = visible::line(shown.subject);
    let body = maud::html! {
        header {
            h1 { span.verdict.(class) { (word) } " " span.subject { (subject) } }
            @match &headline.change {
                None => p.lead { (visible::line(&headline.sentence)) },
                Some(change) => {
                    p.lead { strong { "What is wrong: " } (visible::line(&headline.sentence)) }
                    p.lead { strong { "What to change: " } (html::line(&prose::spans(change))) }
                },
            }
            @if let Some(advice) = &headline.optional {
                p.lead { strong { "What you may change: " } (html::line(&prose::spans(advice))) }
            }
        }
        main {
            @for (index, (question, section)) in parts.iter().enumerate() {
                (html::section(section, &format!("part-{index}"), &below(*question, receipt, window, timeline)))
            }
        }
        footer {
            p {
                (visible::line(&receipt.tool.name)) " " (visible::line(&receipt.tool.version))
                @if let Some(hash) = receipt.receipt_sha256 { " · receipt " code { (hash) } }
                @if let Some(hash) = receipt.input.sha256 { " · input " code { (hash) } }
            }
        }
    };
    Ok(whole(&format!("{word}: {subject}"), &body))
}

/// A picture made of characters and the line above it go: here the same is drawn.
fn without_text_pictures(section: &mut Section) {
    if let Some(at) = section.blocks.iter().position(|block| matches!(block, Block::Bars(_))) {
        section.blocks.drain(at.saturating_sub(1)..=at);
    }
}

/// The page of a rule or of a recipe.
pub fn page(page: &Page) -> String {
    article(&page.name, maud::html! { p.lead { (page.lead) } }, maud::html! {}, &page.sections)
}

/// The schedules of a chain.
pub fn schedule(schedule: &Schedule) -> String {
    let title = format!("Recompute schedules of a chain of {}", words::count(schedule.depth, "step"));
    article(&title, maud::html! {}, figure::recompute::figure(schedule).html(), &schedule::sections(schedule, None))
}

/// A page without a run: what leads to it, a picture, and its sections.
fn article(title: &str, lead: Markup, picture: Markup, sections: &[Section]) -> String {
    let body = maud::html! {
        header { h1 { (title) } (lead) }
        main {
            (picture)
            @for (index, section) in sections.iter().enumerate() {
                (html::section(section, &format!("part-{index}"), &Markup::default()))
            }
        }
    };
    whole(title, &body)
}

fn whole(title: &str, body: &Markup) -> String {
    let page = maud::html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(figure::STYLE)) (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    page.into_string() + "\n"
}

/// The pictures that belong to a question.
fn below(question: Question, receipt: &Receipt, window: Option<u64>, timeline: Option<&Timeline>) -> Markup {
    let figures: Vec<Option<Figure>> = match question {
        Question::HowMuch => vec![figure::drift::figure(receipt), figure::shares::figure(receipt, None)],
        Question::Window => {
            vec![figure::shares::figure(receipt, window), timeline.and_then(figure::lanes::figure)]
        }
        Question::Where => vec![timeline.and_then(figure::lanes::figure)],
        Question::Execution => {
            let replay = receipt.replay.as_ref();
            vec![
                replay.and_then(|replay| figure::replay::figure(&figure::replay::drifts(replay))),
                replay.and_then(figure::recompute::of_replay),
            ]
        }
        // Nothing is wrong, so there is no place to look at first.
        Question::Evidence if receipt.findings.is_empty() => vec![timeline.and_then(figure::lanes::figure)],
        Question::Happened => vec![timeline.and_then(figure::scale::figure)],
        _ => vec![],
    };
    maud::html! { @for figure in figures.into_iter().flatten() { (figure.html()) } }
}

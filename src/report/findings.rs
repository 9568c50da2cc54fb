//! Findings as `receipt verify` lists them: like a compiler's messages, the cause before its symptoms, at most a
//! screenful each.
use super::Excerpt;
use super::Shown;
use super::Style;
use super::layout::Line;
use super::layout::Role;
use super::layout::text;
use super::visible;
use super::words;
use crate::finding::Severity;
use crate::receipt::document::FindingReport;

/// Lines of source shown of one finding before its other instances are only named.
const SOURCE_LINES: usize = 24;

/// Instances named without their source.
const NAMED: usize = 16;

/// All findings, a blank line after each.
pub fn findings(shown: &Shown<'_>, style: Style) -> String {
    let each = |(index, finding): (usize, &FindingReport)| {
        let mut out = self::finding(finding, shown.excerpts_of(index), style);
        out.push('\n');
        out
    };
    shown.receipt.findings.iter().enumerate().map(each).collect()
}

fn finding(finding: &FindingReport, excerpts: &[Excerpt], style: Style) -> String {
    let mut out = match excerpts {
        [] => heading(finding, &finding.message, style) + &note("-->", words::place(&finding.place).into(), style),
        excerpts => sources(finding, excerpts, style),
    };
    let windows = words::windows_of(finding);
    if finding.count.get() > 1 {
        // Several excerpts are the instances themselves; else the one that is shown is the worst.
        let worst = if excerpts.len() > 1 { "" } else { "worst of " };
        let count = format!("{worst}{}", words::count(finding.count.get(), "instance"));
        let text = if windows.is_empty() { count } else { format!("{count}, in {windows}") };
        out.push_str(&note("=", text.into(), style));
    }
    if let Some(cause) = finding.caused_by {
        let line = Line::new().text("symptom of ").strong(format!("{cause}")).text(format!(" {}", cause.name()));
        out.push_str(&note("=", line, style));
    }
    out
}

/// The instances with their source, as many as a screen holds; then by name; then how many more.
fn sources(finding: &FindingReport, excerpts: &[Excerpt], style: Style) -> String {
    let mut out = String::new();
    let (mut lines, mut shown) = (0, 0);
    for excerpt in excerpts {
        let source = without_title(&excerpt.snippet);
        lines += source.lines().count();
        if shown > 0 && lines > SOURCE_LINES {
            break;
        }
        out.push_str(&heading(finding, &excerpt.message, style));
        match &*source {
            "" => out.push_str(&note("-->", words::place(&excerpt.place).into(), style)),
            source => {
                out.push_str(source);
                out.push('\n');
            }
        }
        shown += 1;
    }
    let rest = &excerpts[shown..];
    for excerpt in rest.iter().take(NAMED) {
        let origin = origin(&excerpt.snippet);
        let origin = if origin.is_empty() { words::place(&excerpt.place) } else { origin };
        out.push_str(&note("=", format!("{origin}: {}", excerpt.message).into(), style));
    }
    // A finding with one excerpt shows its worst instance; how many there are is said below.
    let all = usize::try_from(finding.count.get()).unwrap_or(usize::MAX).max(excerpts.len());
    let more = all.saturating_sub(shown + rest.len().min(NAMED));
    if more > 0 && excerpts.len() > 1 {
        out.push_str(&note("=", format!("{more} more are not shown").into(), style));
    }
    out
}

fn heading(finding: &FindingReport, message: &str, style: Style) -> String {
    let (role, word) = match finding.severity {
        Severity::Error => (Role::Error, "error"),
        Severity::Warning => (Role::Warning, "warning"),
    };
    let line = Line::new()
        .with(role, format!("{word}[{}]", finding.code))
        .text(" ")
        .strong(&*finding.name)
        .text(format!(": {message}"));
    text::unbroken(&line, style)
}

fn note(mark: &str, line: Line, style: Style) -> String {
    if line.is_empty() {
        String::new()
    } else {
        format!("  {}", text::unbroken(&Line::from(mark).text(" ").join(line), style))
    }
}

/// The snippet from its ` --> ` line on, without the line `:::` that the renderer writes for a source without a name of
/// its own; empty for a snippet without a source.
fn without_title(snippet: &str) -> String {
    let is_nameless = |line: &&str| without_colour(line).trim() == ":::";
    let lines: Vec<&str> =
        snippet.lines().skip_while(|line| !is_origin(line)).filter(|line| !is_nameless(line)).collect();
    lines.join("\n").trim_end().replace("##[", "##\\u{5b}")
}

fn is_origin(line: &str) -> bool {
    without_colour(line).trim_start().starts_with("--> ")
}

/// `run.jsonl:3:10`; empty for a snippet without a source.
pub(super) fn origin(snippet: &str) -> String {
    let line = snippet.lines().find(|line| is_origin(line)).map(without_colour).unwrap_or_default();
    visible::line(line.trim_start().trim_start_matches("--> ").trim_end())
}

/// Without the ANSI sequences of a renderer (`ESC [ … m`).
fn without_colour(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Code;
    use crate::finding::Place;
    use crate::report::testing::finding as made;

    fn excerpt(line: usize, title: &str) -> Excerpt {
        let snippet = format!("{title}  --> run.jsonl:{line}:1\n   |\n  ::: \n {line} | {{##[x}}\n   | ^^ here\n");
        Excerpt { message: format!("fault on line {line}"), place: Place::default(), location: None, snippet }
    }

    #[test]
    fn an_instance_is_shown_once() {
        let mut one = made(Code::GA103, Place::event(0, 1).at("/clip"), "fault on line 2");
        let shown = "error[GA103] unexpected-shape: fault on line 2\n  --> run.jsonl:2:1\n   |\n 2 | {##\\u{5b}x}\n   | ^^ here\n";
        assert_eq!(finding(&one, &[excerpt(2, "error[GA103]: a title\n")], Style::plain(80)), shown);
        one.caused_by = Some(Code::GA303);
        assert_eq!(
            finding(&one, &[], Style::plain(80)),
            "error[GA103] unexpected-shape: fault on line 2\n  --> rank 0, event 1, at /clip\n  = symptom of GA303 \
             zero-inside-window\n"
        );
    }

    #[test]
    fn no_finding_fills_more_than_a_screen() {
        let excerpts: Vec<Excerpt> = (1..=40).map(|line| excerpt(line, "\u{1b}[1merror\u{1b}[0m: title\n")).collect();
        let text = finding(&made(Code::GA103, Place::run(), "m"), &excerpts, Style::plain(80));
        assert!(text.contains("  = run.jsonl:7:1: fault on line 7\n"), "{text}");
        assert!(text.ends_with("  = run.jsonl:22:1: fault on line 22\n  = 18 more are not shown\n"), "{text}");
        assert!(text.lines().count() <= 50, "{text}");
    }

    #[test]
    fn no_message_reaches_the_terminal_raw() {
        let message = "\u{1b}[2Jgone\u{202e} ##[error] <script> ::error::x";
        let text = finding(&made(Code::GA107, Place::run().at("/a\u{1b}"), message), &[], Style::plain(40));
        assert_eq!(
            text,
            "error[GA107] bad-identifier: \\u{1b}[2Jgone\\u{202e} ##\\u{5b}error] <script> ::error::x\n  --> at /a\\u{1b}\n"
        );
    }
}

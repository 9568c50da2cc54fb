//! Annotations of GitHub Actions, as the commands that its runner reads from a log, and the verdict in plain lines.
//!
//! Escapes: actions/toolkit `packages/core/src/command.ts`, `escapeData` and `escapeProperty`.
use super::Checked;
use super::problem::Problem;
use super::problem::problems;
use crate::finding::Severity;
use crate::report::Style;
use crate::report::verdict;
use crate::report::visible;
use crate::report::words;

/// Annotations of a level that GitHub shows of one step.
const SHOWN: usize = 10;

/// The commands, worst first, a notice for what they leave out, and the verdict.
pub fn text(checked: &Checked<'_>) -> String {
    let problems = problems(checked);
    let mut out = String::new();
    let mut left_out = Vec::new();
    for (severity, command) in [(Severity::Error, "error"), (Severity::Warning, "warning")] {
        let of_level: Vec<&Problem<'_>> =
            problems.iter().filter(|problem| problem.finding.severity == severity).collect();
        of_level.iter().take(SHOWN).for_each(|problem| out.push_str(&annotation(command, problem)));
        // What the receipt itself only counts is left out too.
        let more = of_level.len().saturating_sub(SHOWN);
        if more > 0 {
            left_out.push(words::count(more as u64, &format!("more {command}")));
        }
    }
    if !left_out.is_empty() {
        let are = "not annotated: `receipt verify` without `--format github` lists them";
        out.push_str(&format!("::notice title=receipt::{}\n", data(&format!("{} {are}", words::list(&left_out)))));
    }
    out.push_str(&verdict::summary(&checked.shown, Style::plain(usize::MAX)));
    out
}

fn annotation(command: &str, problem: &Problem<'_>) -> String {
    let finding = problem.finding;
    let mut properties = Vec::new();
    // There is no escape for what a terminal would obey: an annotation can do without its file.
    if let Some(path) = problem.path.as_ref().filter(|path| visible::line(path) == **path) {
        properties.push(format!("file={}", property(path)));
    }
    if let Some(at) = problem.at {
        properties.push(format!("line={},col={}", at.line, at.column));
    }
    properties.push(format!("title={}", property(&format!("{} {}", finding.code, finding.code.name()))));
    format!("::{command} {}::{}\n", properties.join(","), data(&problem.text()))
}

/// A message in a command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property's value in a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Code;
    use crate::finding::Place;
    use crate::report::ci::testing;
    use crate::report::testing::finding;
    use crate::report::testing::rejected;
    use crate::report::testing::violated;

    #[test]
    fn a_command_ends_where_it_should() {
        let message = "100 %\r\n::error::x\u{1b} a,b:c";
        let receipt = rejected(vec![finding(Code::GA107, Place::document("/a"), message)]);
        let text = testing::format(&receipt, "a,b:c%.json", text);
        assert_eq!(
            text.lines().next().expect("a line"),
            "::error file=a%2Cb%3Ac%25.json,title=GA107 bad-identifier::100 %25\\u{d}\\u{a}::error::x\\u{1b} a,b:c"
        );
    }

    #[test]
    fn no_file_whose_name_a_terminal_would_obey() {
        let receipt = rejected(vec![finding(Code::GA107, Place::document("/a"), "bad")]);
        for name in ["a\u{1b}[31m.json", "a\u{202e}.json", "a##[error]"] {
            let text = testing::format(&receipt, name, text);
            assert!(text.starts_with("::error title=GA107 bad-identifier::"), "{text}");
            assert!(!text.contains(name), "{text}");
        }
    }

    #[test]
    fn ten_of_a_level_and_how_many_more() {
        let many = |count| (0..count).map(|event| finding(Code::GA103, Place::event(0, event), "unknown field"));
        let warning = finding(Code::GA309, Place::window(0), "twice");
        let thirteen = testing::format(&rejected(many(13).chain([warning]).collect()), "run.jsonl", text);
        let of = |command: &str| thirteen.lines().filter(|line| line.starts_with(command)).count();
        assert_eq!((of("::error "), of("::warning "), of("::notice ")), (10, 1, 1), "{thirteen}");
        assert!(thirteen.contains("::notice title=receipt::3 more errors not annotated"), "{thirteen}");
        assert!(!testing::format(&rejected(many(10).collect()), "run.jsonl", text).contains("::notice"));
    }

    #[test]
    fn the_verdict_stands_last_and_is_no_command() {
        let receipt = violated(&[&crate::report::testing::MEAN_OF_MEANS]);
        let text = testing::format(&receipt, "::set-output name=a::b", text);
        assert_eq!(text.lines().last().expect("a line"), "violated: ::set-output name=a::b (error GA203, GA201)");
        assert_eq!(text.lines().filter(|line| line.starts_with("::")).count(), 2, "{text}");
    }
}

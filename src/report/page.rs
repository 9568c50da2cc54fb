//! A rule's page for the terminal, from its own doc comment, and the list of all rules.
use super::Style;
use super::layout;
use super::layout::Line;
use super::layout::Role;
use super::layout::Section;
use super::layout::prose;
use super::layout::text;
use super::plain;
use crate::finding::Code;
use crate::finding::Severity;
use crate::rules::Rule;

/// What `receipt explain GA203` prints.
pub fn page(rule: &Rule, style: Style) -> String {
    let code = rule.code;
    let title = Line::new().with(role(code), code.as_str()).text(" ").strong(code.name());
    format!(
        "{}{}\n{}",
        text::unbroken(&title, style),
        text::paragraph(&summary(code).into(), style),
        text::sections(&sections(rule), style)
    )
}

/// What `receipt explain GA203 --format markdown` prints.
pub fn markdown(rule: &Rule) -> String {
    let code = rule.code;
    let summary = layout::markdown::line(&summary(code).into());
    format!("# {code} {}\n\n{summary}\n{}", code.name(), layout::markdown::sections(&sections(rule)))
}

/// What is wrong and how bad that is, in two sentences.
pub(super) fn summary(code: Code) -> String {
    format!("{}. {}.", plain::wrong(code, code.severity()), consequence(code))
}

/// The page's sections, and where its fixtures are.
pub(super) fn sections(rule: &Rule) -> Vec<Section> {
    let mut sections = prose::sections(rule.docs);
    sections.push(fixtures(rule.code));
    sections
}

/// The folder below the source tree that holds a run which has the fault and one, as like it as can be, which has not.
pub fn fixtures_folder(code: Code) -> String {
    format!("fixtures/rules/{code}-{}", code.name())
}

fn fixtures(code: Code) -> Section {
    let line = Line::new().text("In the source tree, a run with the fault and one without: ");
    Section::new("Fixtures").paragraph(line.name(format!("{}/", fixtures_folder(code))))
}

/// What `receipt rules` prints: one line a rule.
pub fn list(rules: impl Iterator<Item = &'static Rule>, style: Style) -> String {
    let rules: Vec<&Rule> = rules.collect();
    let longest = rules.iter().map(|rule| rule.code.name().len()).max().unwrap_or(0);
    let line = |rule: &&Rule| {
        let code = style.paint(role(rule.code), rule.code.as_str());
        format!(
            "{code}  {:longest$}  {:7}  {}\n",
            rule.code.name(),
            severity(rule.code),
            plain::wrong(rule.code, rule.code.severity())
        )
    };
    rules.iter().map(line).collect()
}

fn role(code: Code) -> Role {
    match code.severity() {
        Severity::Error => Role::Error,
        Severity::Warning => Role::Warning,
    }
}

fn severity(code: Code) -> &'static str {
    match code.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn consequence(code: Code) -> &'static str {
    match code.severity() {
        Severity::Error if code.rejects() => "An error: the manifest is rejected, and nothing is computed",
        Severity::Error => "An error",
        Severity::Warning => "A warning",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;

    #[test]
    fn a_page_has_its_sections() {
        let text = page(rules::find(Code::GA103), Style::plain(72));
        assert_eq!(
            text,
            "\
GA103 unexpected-shape
The manifest lacks a field, has an unknown one, or has one of the wrong
type. An error: the manifest is rejected, and nothing is computed.

What it does
  Finds an unknown or a missing field, a value of the wrong type,
  `null`, and an event with two tags or none.

Why it is wrong
  A field that is not understood might change what the others mean, so
  it is refused and not skipped.

What to do
  Compare with what `receipt schema manifest` prints, or for a `.jsonl`
  file `receipt schema microbatches`: its line 1 must be the header.

Fixtures
  In the source tree, a run with the fault and one without:
  fixtures/rules/GA103-unexpected-shape/
"
        );
    }

    #[test]
    fn a_page_in_markdown() {
        let text = markdown(rules::find(Code::GA103));
        let start = "# GA103 unexpected-shape\n\nThe manifest lacks a field, has an unknown one, or has one of the wrong \
                     type. An error: the manifest is rejected, and nothing is computed.\n\n## What it does\n\nFinds";
        assert!(text.starts_with(start), "{text}");
        assert!(text.contains("\n## What to do\n\nCompare with what `receipt schema manifest` prints"), "{text}");
    }

    #[test]
    fn every_rule_has_one_line() {
        let text = list(rules::all(), Style::plain(80));
        assert_eq!(text.lines().count(), rules::all().count());
        assert!(text.starts_with("GA101  syntax-error "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 140), "{text}");
        let coloured = list(rules::all(), Style { color: true, width: 80 });
        assert!(coloured.starts_with("\u{1b}[1m\u{1b}[91mGA101\u{1b}[0m  "), "{coloured}");
    }
}

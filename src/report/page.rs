//! The page of a rule or of a recipe, and the list of all rules.
use super::Style;
use super::layout;
use super::layout::Line;
use super::layout::Role;
use super::layout::Section;
use super::layout::prose;
use super::layout::text;
use super::plain;
use super::recipes;
use super::recipes::Recipe;
use super::words;
use crate::finding::Code;
use crate::finding::Severity;
use crate::rules::Rule;

/// What `receipt explain` shows of a name.
#[derive(Clone, Debug)]
pub struct Page {
    /// The name alone.
    pub(super) name: String,
    title: Line,
    /// What it stands for, in a sentence or two.
    pub(super) lead: String,
    pub(super) sections: Vec<Section>,
}

impl Page {
    /// Of a rule, from its own doc comment, with where its fixtures are.
    pub fn of_rule(rule: &Rule) -> Self {
        let code = rule.code;
        let mut sections = prose::sections(rule.docs);
        sections.push(fixtures(code));
        Page {
            name: format!("{code} {}", code.name()),
            title: Line::new().with(role(code), code.as_str()).text(" ").strong(code.name()),
            lead: format!("{}. {}.", plain::wrong(code, code.severity()), consequence(code)),
            sections,
        }
    }

    /// Of a recipe, from what reports say of it.
    pub fn of_recipe(recipe: &Recipe) -> Self {
        let weight =
            Section::new("The weight of a microbatch's summed loss").paragraph(format!("f = {}", recipe.formula));
        let mut sections = vec![
            weight.paragraph(recipes::letters(&recipe.formula)),
            Section::new("What that does").paragraph(recipe.effect.clone()),
        ];
        if !recipe.seen_in.is_empty() {
            sections.push(Section::new("Seen in").paragraph(prose::spans(&words::sentence(recipe.seen_in))));
        }
        sections.push(Section::new("What to change").paragraph(prose::spans(&words::sentence(&recipe.change))));
        Page {
            name: recipe.name.clone(),
            title: Line::new().strong(recipe.name.clone()),
            lead: format!("A recipe by which a run can weight its microbatches. {}", words::sentence(&recipe.did)),
            sections,
        }
    }

    /// For a terminal.
    pub fn text(&self, style: Style) -> String {
        let lead = text::paragraph(&self.lead.clone().into(), style);
        format!("{}{lead}\n{}", text::unbroken(&self.title, style), text::sections(&self.sections, style))
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let lead = layout::markdown::line(&self.lead.clone().into());
        format!("# {}\n\n{lead}\n{}", self.name, layout::markdown::sections(&self.sections))
    }
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
        let text = Page::of_rule(rules::find(Code::GA103)).text(Style::plain(72));
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
        let text = Page::of_rule(rules::find(Code::GA103)).markdown();
        let start = "# GA103 unexpected-shape\n\nThe manifest lacks a field, has an unknown one, or has one of the wrong \
                     type. An error: the manifest is rejected, and nothing is computed.\n\n## What it does\n\nFinds";
        assert!(text.starts_with(start), "{text}");
        assert!(text.contains("\n## What to do\n\nCompare with what `receipt schema manifest` prints"), "{text}");
    }

    #[test]
    fn a_page_says_what_the_name_stands_for() {
        let page = Page::of_recipe(&recipes::find("world-size-lost").expect("a recipe"));
        assert_eq!(
            page.text(Style::plain(100)),
            "\
world-size-lost
A recipe by which a run can weight its microbatches. The loss was divided by all ranks' targets, and
the average over ranks (DDP, FSDP) divided by the number of ranks once more.

The weight of a microbatch's summed loss
  f = c/(N·W)

  f: what multiplies a microbatch's summed loss; N: the window's valid targets; W: ranks; c: W where
  gradients are averaged over ranks, else 1.

What that does
  Every update is W times too small: the average over ranks divides once more.

Seen in
  torchtune#2172, transformers#37474.

What to change
  Multiply the loss by the number of ranks where gradients are averaged over them (DDP, FSDP), or
  sum them.
"
        );
        assert!(page.markdown().starts_with("# world-size-lost\n\nA recipe by which"), "{}", page.markdown());
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

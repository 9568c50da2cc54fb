//! Blocks as GitHub's Markdown, for a pull request's comment or `$GITHUB_STEP_SUMMARY`.
use super::Block;
use super::Line;
use super::Role;
use super::Section;
use super::Span;
use super::table::Cell;
use super::table::Table;
use crate::report::visible;

/// Columns of a text picture.
const FIGURE: usize = 80;

/// Sections with second-level headings.
pub fn sections(sections: &[Section]) -> String {
    let mut out = String::new();
    for section in sections {
        out.push_str(&format!("\n## {}\n", visible::markdown(&section.title)));
        for block in &section.blocks {
            out.push('\n');
            out.push_str(&self::block(block));
        }
    }
    out
}

/// A line of spans, on one line.
pub fn line(line: &Line) -> String {
    line.0.iter().map(|each| span(each, false)).collect()
}

fn span(span: &Span, in_table: bool) -> String {
    let Span { role, text } = span;
    match role {
        Role::Name | Role::Code => visible::code_span(text, in_table),
        Role::Plain | Role::Faint => visible::markdown(text),
        Role::Strong | Role::Heading | Role::Error | Role::Warning | Role::Good if !text.trim().is_empty() => {
            format!("**{}**", visible::markdown(text.trim()))
        }
        _ => String::new(),
    }
}

fn block(block: &Block) -> String {
    match block {
        Block::Paragraph(text) => format!("{}\n", line(text)),
        Block::List(items) => {
            let item = |(depth, text): &(usize, Line)| format!("{}- {}\n", "  ".repeat(*depth), line(text));
            items.iter().map(item).collect()
        }
        Block::Facts(facts) => facts
            .iter()
            .map(|(subject, text)| format!("- **{}**: {}\n", visible::markdown(subject), line(text)))
            .collect(),
        Block::Table(table) => self::table(table),
        Block::Bars(bars) => figure(&bars.set(FIGURE)),
        Block::Figure(lines) => figure(lines),
    }
}

fn table(table: &Table) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = row(table.columns.iter().map(|column| visible::markdown(&column.title)).collect());
    out.push_str(&row(table.columns.iter().map(|c| if c.is_number { "---:" } else { "---" }.to_owned()).collect()));
    for cells in &table.rows {
        let cell = |cell: &Cell| match cell {
            Cell::Name(name) => visible::code_span(name, true),
            Cell::Text(text) => visible::markdown(text),
            Cell::Empty | Cell::Number { .. } => cell.shown(false),
        };
        out.push_str(&row(cells.iter().map(cell).collect()));
    }
    if let Some(left_out) = &table.left_out {
        out.push_str(&format!("\n{}\n", visible::markdown(left_out)));
    }
    out
}

/// In a fence longer than any in the lines.
fn figure(lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| visible::line(line)).collect();
    let longest = lines.iter().flat_map(|line| line.split(|c| c != '`')).map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    visible::without_commands(&format!("{fence}text\n{}\n{fence}\n", lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_text() {
        let mut table = Table::new(&["microbatch", "#n"]);
        table.push(vec![Cell::Name("a|`b`\u{1b}<x>".into()), Cell::count(3)]);
        let section = Section::new("# <b>")
            .paragraph(Line::new().text("<script>|").name("*m*").strong(" _s_ "))
            .with(Block::Figure(vec!["```".into(), "::error::".into()]))
            .with(Block::Table(table));
        assert_eq!(
            sections(&[section]),
            "\n## #<!-- --> &lt;b&gt;\n\n&lt;script&gt;\\|`*m*`**\\_s\\_**\n\n````text\n```\n\\u{3a}:error::\n````\n\n\
             | microbatch | n |\n| --- | ---: |\n| ``a\\|`b`\\u{1b}<x>`` | 3 |\n"
        );
    }
}

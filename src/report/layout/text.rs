//! Blocks as text for a terminal or a log.
use super::Block;
use super::Line;
use super::Role;
use super::Section;
use super::wrap::Indent;
use super::wrap::wrap;
use crate::report::Style;
use crate::report::visible;
use tabled::grid::util::string::get_string_width;

/// Columns by which blocks are indented below their heading.
const BELOW_HEADING: usize = 2;

/// Sections below one another.
pub fn sections(sections: &[Section], style: Style) -> String {
    let rendered: Vec<String> = sections.iter().map(|each| section(each, style)).collect();
    rendered.join("\n")
}

/// A heading, and its blocks with a blank line between them.
fn section(section: &Section, style: Style) -> String {
    let mut out = style.paint(Role::Heading, &visible::line(&section.title));
    out.push('\n');
    for (index, block) in section.blocks.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        for line in self::block(block, BELOW_HEADING, style) {
            push(&mut out, &line);
        }
    }
    visible::without_commands(&out)
}

/// A line of spans, wrapped, with a newline at the end of each line.
pub fn paragraph(line: &Line, style: Style) -> String {
    let mut out = String::new();
    behind("", line, 0, style).iter().for_each(|line| push(&mut out, line));
    visible::without_commands(&out)
}

/// A line of spans on one line, newline at the end: what is searched for in a log is not broken.
pub fn unbroken(line: &Line, style: Style) -> String {
    paragraph(line, Style { width: usize::MAX, ..style })
}

fn push(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

fn behind(mark: &str, line: &Line, indent: usize, style: Style) -> Vec<String> {
    let start = indent + get_string_width(mark);
    let mut lines = wrap(line, Indent { first: start, rest: start }, style);
    lines[0] = format!("{}{mark}{}", " ".repeat(indent), lines[0]);
    lines
}

/// The lines of a block.
fn block(block: &Block, indent: usize, style: Style) -> Vec<String> {
    let left = " ".repeat(indent);
    match block {
        Block::Paragraph(line) => behind("", line, indent, style),
        Block::List(items) => {
            let item = |(depth, line): &(usize, Line)| behind("- ", line, indent + 2 * depth, style);
            items.iter().flat_map(item).collect()
        }
        Block::Facts(facts) => {
            let longest = facts.iter().map(|(subject, _)| get_string_width(subject)).max().unwrap_or(0);
            let fact = |(subject, line): &(&str, Line)| behind(&format!("{subject:longest$}  "), line, indent, style);
            facts.iter().flat_map(fact).collect()
        }
        Block::Table(table) => {
            table.set(style.width.saturating_sub(indent)).into_iter().map(|line| format!("{left}{line}")).collect()
        }
        Block::Bars(bars) => {
            bars.set(style.width.saturating_sub(indent)).into_iter().map(|line| format!("{left}{line}")).collect()
        }
        Block::Figure(lines) => lines.iter().map(|line| format!("{left}{}", visible::line(line))).collect(),
    }
}

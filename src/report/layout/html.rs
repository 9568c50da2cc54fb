//! Blocks as HTML. Every text is made harmless here, and escaped by `maud`, which sets it.
use super::Block;
use super::Line;
use super::Role;
use super::Section;
use super::Span;
use super::table::Cell;
use super::table::Table;
use crate::report::visible;
use maud::Markup;
use maud::html;

/// Columns of a text picture.
const FIGURE: usize = 90;

/// A section with its heading, and what stands below its blocks.
pub fn section(section: &Section, id: &str, below: &Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ (id) "-heading" } {
            h2 id={ (id) "-heading" } { (visible::line(&section.title)) }
            @for block in &section.blocks { (self::block(block, &section.title)) }
            (below)
        }
    }
}

/// A line of spans.
pub fn line(line: &Line) -> Markup {
    html! { @for each in &line.0 { (span(each)) } }
}

fn span(span: &Span) -> Markup {
    let text = visible::visible(&span.text);
    match span.role {
        Role::Plain => html! { (text) },
        Role::Name => html! { span.name { (text) } },
        Role::Code => html! { code { (text) } },
        Role::Strong | Role::Heading => html! { strong { (text) } },
        Role::Error => html! { strong.error { (text) } },
        Role::Warning => html! { strong.warning { (text) } },
        Role::Good => html! { strong.good { (text) } },
        Role::Faint => html! { span.faint { (text) } },
    }
}

fn block(block: &Block, title: &str) -> Markup {
    match block {
        Block::Paragraph(text) => html! { p { (line(text)) } },
        Block::List(items) => list(items),
        Block::Facts(facts) => html! {
            dl { @for (subject, text) in facts { dt { (visible::line(subject)) } dd { (line(text)) } } }
        },
        Block::Table(table) => self::table(table, title),
        Block::Bars(bars) => html! { pre { (bars.set(FIGURE).join("\n")) } },
        Block::Figure(lines) => {
            html! { pre { (lines.iter().map(|line| visible::line(line)).collect::<Vec<_>>().join("\n")) } }
        }
    }
}

/// Items, those of a greater depth within the one above them.
fn list(items: &[(usize, Line)]) -> Markup {
    let Some((depth, _)) = items.first() else { return Markup::default() };
    let mut groups: Vec<&[(usize, Line)]> = Vec::new();
    let mut rest = items;
    while !rest.is_empty() {
        let below = rest[1..].iter().take_while(|(each, _)| each > depth).count();
        let (group, others) = rest.split_at(1 + below);
        groups.push(group);
        rest = others;
    }
    html! {
        ul { @for group in groups { li { (line(&group[0].1)) (list(&group[1..])) } } }
    }
}

/// The first column of a table names its rows. A number that was shortened has all its digits as its title.
fn table(table: &Table, title: &str) -> Markup {
    let class = |index: usize| table.columns[index].is_number.then_some("number");
    html! {
        div.table tabindex="0" role="region" aria-label=(visible::line(title)) {
            table {
                thead { tr {
                    @for (index, column) in table.columns.iter().enumerate() {
                        th scope="col" class=[class(index)] { (visible::line(&column.title)) }
                    }
                } }
                tbody {
                    @for row in &table.rows { tr {
                        @for (index, cell) in row.iter().enumerate() {
                            @if index == 0 {
                                th scope="row" class=[class(index)] title=[exact(cell)] { (cell.shown(true)) }
                            } @else {
                                td class=[class(index)] title=[exact(cell)] { (cell.shown(true)) }
                            }
                        }
                    } }
                }
            }
        }
        @if let Some(left_out) = &table.left_out { p.faint { (visible::line(left_out)) } }
    }
}

fn exact(cell: &Cell) -> Option<&str> {
    match cell {
        Cell::Number { exact, short } if exact != short => Some(exact),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_text() {
        let hostile = "<img src=x onerror=alert(1)>\"'&\u{1b}\u{202e}";
        let mut table = Table::new(&["name", "#n"]);
        table.push(vec![Cell::Name(hostile.into()), Cell::exact(1.0 / 3.0)]);
        table.left_out = Some(hostile.into());
        let section = Section::new(hostile)
            .paragraph(Line::new().text(hostile).name(hostile).code(hostile).strong(hostile))
            .with(Block::Figure(vec![hostile.into()]))
            .with(Block::Facts(vec![("a", hostile.into())]))
            .with(Block::List(vec![(0, hostile.into())]))
            .with(Block::Table(table));
        let page = super::section(&section, "x", &Markup::default()).into_string();
        let escaped = "&lt;img src=x onerror=alert(1)&gt;&quot;'&amp;\\u{1b}\\u{202e}";
        assert_eq!(page.matches(escaped).count(), 11, "{page}");
        assert!(!page.contains("<img") && !page.contains(['\u{1b}', '\u{202e}']), "{page}");
        assert!(page.contains("<td class=\"number\" title=\"0.3333333333333333\">0.333333</td>"), "{page}");
    }

    #[test]
    fn lists_nest_by_depth() {
        let items = [(0, "a"), (1, "b"), (2, "c"), (0, "d")].map(|(depth, text)| (depth, Line::from(text)));
        assert_eq!(list(&items).into_string(), "<ul><li>a<ul><li>b<ul><li>c</li></ul></li></ul></li><li>d</li></ul>");
    }
}

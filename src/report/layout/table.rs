//! Tables: what is in them, and how `tabled` fits them to a width.
//!
//! A number is never broken. A table that does not fit first gives its exact numbers up for short ones, then its texts
//! are wrapped, then it becomes one paragraph a row.
use super::Line;
use super::wrap::Indent;
use super::wrap::wrap;
use crate::report::Style;
use crate::report::number;
use crate::report::visible;
use tabled::builder::Builder;
use tabled::grid::util::string::get_string_width;
use tabled::grid::util::string::get_text_width;
use tabled::settings::Alignment;
use tabled::settings::Modify;
use tabled::settings::Padding;
use tabled::settings::Style as Lines;
use tabled::settings::Width;
use tabled::settings::object::Columns;
use tabled::settings::object::Rows;
use tabled::settings::style::HorizontalLine;

/// Columns of text narrower than this are not worth having.
const NARROWEST_TEXT: usize = 14;

/// Spaces between columns.
const GAP: usize = 2;

/// Rows and columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns' titles, and whether they hold numbers.
    pub columns: Vec<Column>,
    /// Each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
    /// What was left out, in words; never silently.
    pub left_out: Option<String>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its title, with the unit.
    pub title: String,
    /// Whether it is set to the right, on the point.
    pub is_number: bool,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Nothing to say.
    Empty,
    /// Text, unescaped.
    Text(String),
    /// A name from a manifest, unescaped.
    Name(String),
    /// A number, with all its digits and with as many as tell it from its neighbours.
    Number {
        /// All digits.
        exact: String,
        /// Six significant ones.
        short: String,
    },
}

impl Cell {
    /// A number whose every digit counts where there is room.
    pub fn exact(value: f64) -> Self {
        Cell::Number { exact: number::exact(value), short: number::ratio(value) }
    }

    /// A ratio.
    pub fn ratio(value: f64) -> Self {
        Cell::Number { exact: number::ratio(value), short: number::ratio(value) }
    }

    /// A ratio in per cent; the column's title has the unit.
    pub fn percent(value: f64) -> Self {
        let shown = number::significant(value * 100.0, 3);
        Cell::Number { exact: shown.clone(), short: shown }
    }

    /// A ratio that should be 1.
    pub fn near_one(value: f64) -> Self {
        Cell::Number { exact: number::near_one(value), short: number::near_one(value) }
    }

    /// A count.
    pub fn count(value: u64) -> Self {
        Cell::Number { exact: value.to_string(), short: value.to_string() }
    }

    /// A number that may not be there.
    pub fn or_empty(cell: Option<Cell>) -> Self {
        cell.unwrap_or(Cell::Empty)
    }

    /// As it is shown, harmless.
    pub(super) fn shown(&self, is_short: bool) -> String {
        match self {
            Cell::Empty => "–".to_owned(),
            Cell::Text(text) | Cell::Name(text) => visible::line(text),
            Cell::Number { short, .. } if is_short => short.clone(),
            Cell::Number { exact, .. } => exact.clone(),
        }
    }
}

impl Table {
    /// A table without rows; titles that begin with `#` are of number columns (the mark is taken off).
    pub fn new(titles: &[&str]) -> Self {
        let column = |title: &&str| match title.strip_prefix('#') {
            Some(title) => Column { title: title.to_owned(), is_number: true },
            None => Column { title: (*title).to_owned(), is_number: false },
        };
        Table { columns: titles.iter().map(column).collect(), ..Table::default() }
    }

    /// With one row more.
    pub fn push(&mut self, row: Vec<Cell>) {
        assert_eq!(row.len(), self.columns.len(), "bug: a row of another length than the table's");
        self.rows.push(row);
    }

    /// Without the columns in which no row has anything.
    pub fn without_empty_columns(mut self) -> Self {
        let is_kept: Vec<bool> = (0..self.columns.len())
            .map(|column| self.rows.is_empty() || self.rows.iter().any(|row| row[column] != Cell::Empty))
            .collect();
        let mut index = 0;
        self.columns.retain(|_| {
            index += 1;
            is_kept[index - 1]
        });
        for row in &mut self.rows {
            let mut index = 0;
            row.retain(|_| {
                index += 1;
                is_kept[index - 1]
            });
        }
        self
    }

    /// Set in text of a width.
    pub(super) fn set(&self, width: usize) -> Vec<String> {
        let fits = |cells: &Vec<Vec<String>>| total(&widths(cells)) <= width;
        let [exact, narrow, short] = [(false, false), (false, true), (true, true)]
            .map(|(is_short, has_narrow_titles)| self.cells(is_short, has_narrow_titles));
        let mut lines = match [&exact, &narrow, &short].into_iter().find(|cells| fits(cells)) {
            Some(cells) => self.draw(cells, &vec![None; self.columns.len()]),
            None => match self.rooms(&short, width) {
                Some(rooms) => self.draw(&wrapped(short.clone(), &rooms), &rooms),
                None => paragraphs(&self.cells(true, false), width),
            },
        };
        lines.extend(self.left_out.clone());
        lines
    }

    /// Title row and rows, harmless, points aligned.
    fn cells(&self, is_short: bool, has_narrow_titles: bool) -> Vec<Vec<String>> {
        let mut columns: Vec<Vec<String>> = (0..self.columns.len())
            .map(|column| self.rows.iter().map(|row| row[column].shown(is_short)).collect())
            .collect();
        for (column, cells) in self.columns.iter().zip(&mut columns) {
            if column.is_number {
                number::align(cells);
            }
            let widest = cells.iter().map(|cell| get_string_width(cell)).max().unwrap_or(0);
            cells.insert(0, if has_narrow_titles { narrow(&column.title, widest) } else { column.title.clone() });
        }
        (0..=self.rows.len()).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect()
    }

    /// What each text column may have at most so that the table fits, if that is enough; `None` for one that stays as
    /// it is. Columns that need less than their share leave the rest to the others.
    fn rooms(&self, cells: &[Vec<String>], width: usize) -> Option<Vec<Option<usize>>> {
        let widths = widths(cells);
        let mut is_wrapped: Vec<bool> = self.columns.iter().map(|column| !column.is_number).collect();
        loop {
            let texts = is_wrapped.iter().filter(|is_wrapped| **is_wrapped).count();
            let fixed: usize =
                widths.iter().zip(&is_wrapped).filter(|(_, wrapped)| !**wrapped).map(|(width, _)| width).sum();
            let room = width.checked_sub(fixed + GAP * widths.len().saturating_sub(1))?.checked_div(texts)?;
            match (0..widths.len()).find(|&column| is_wrapped[column] && widths[column] <= room) {
                Some(column) => is_wrapped[column] = false,
                None if room < NARROWEST_TEXT => return None,
                None => return Some(is_wrapped.iter().map(|wrapped| wrapped.then_some(room)).collect()),
            }
        }
    }

    fn draw(&self, cells: &[Vec<String>], rooms: &[Option<usize>]) -> Vec<String> {
        let mut builder = Builder::default();
        cells.iter().for_each(|row| builder.push_record(row));
        let mut table = builder.build();
        table.with(Lines::empty().horizontals([(1, HorizontalLine::new('─'))])).with(Padding::new(0, GAP, 0, 0));
        table.with(Modify::new(Rows::first()).with(Alignment::bottom()));
        for (index, (column, room)) in self.columns.iter().zip(rooms).enumerate() {
            if column.is_number {
                table.with(Modify::new(Columns::one(index)).with(Alignment::right()));
            }
            if let Some(room) = room {
                table.with(Modify::new(Columns::one(index)).with(Width::wrap(*room)));
            }
        }
        without_edges(&table.to_string())
    }
}

/// The lines without the spaces at their ends, the rule as long as the longest.
fn without_edges(drawn: &str) -> Vec<String> {
    let is_rule = |line: &str| line.starts_with('─');
    let lines = drawn.lines().map(str::trim_end);
    let end = lines.clone().filter(|line| !is_rule(line)).map(get_string_width).max().unwrap_or(0);
    lines.map(|line| if is_rule(line) { "─".repeat(end) } else { line.to_owned() }).collect()
}

/// With texts broken between words; a word longer than its column is left to `tabled`, which breaks it anywhere.
fn wrapped(mut cells: Vec<Vec<String>>, rooms: &[Option<usize>]) -> Vec<Vec<String>> {
    for (cell, room) in cells.iter_mut().flat_map(|row| row.iter_mut().zip(rooms)) {
        if let Some(room) = room {
            *cell = broken(cell, *room);
        }
    }
    cells
}

/// One paragraph a row, for a terminal too narrow for the table.
fn paragraphs(cells: &[Vec<String>], width: usize) -> Vec<String> {
    let [titles, rows @ ..] = cells else { return Vec::new() };
    let longest = titles.iter().map(|title| get_string_width(title)).max().unwrap_or(0);
    let mut lines = Vec::new();
    for row in rows {
        for (index, (title, cell)) in titles.iter().zip(row).enumerate() {
            let mark = if index == 0 { "- " } else { "  " };
            let room = width.saturating_sub(longest + 4).max(NARROWEST_TEXT);
            for (index, part) in broken(cell, room).lines().enumerate() {
                let title = if index == 0 { format!("{mark}{title:longest$}") } else { " ".repeat(longest + 2) };
                lines.push(format!("{title}  {part}").trim_end().to_owned());
            }
        }
    }
    lines
}

/// A title in lines no wider than its column's cells, words unbroken.
fn narrow(title: &str, widest_cell: usize) -> String {
    let longest_word = title.split(' ').map(get_string_width).max().unwrap_or(0);
    broken(title, widest_cell.max(longest_word))
}

fn broken(text: &str, width: usize) -> String {
    wrap(&Line::from(text), Indent { first: 0, rest: 0 }, Style::plain(width)).join("\n")
}

fn widths(cells: &[Vec<String>]) -> Vec<usize> {
    let columns = cells.first().map_or(0, Vec::len);
    let width = |column: usize| cells.iter().map(|row| get_text_width(&row[column])).max().unwrap_or(0);
    (0..columns).map(width).collect()
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["microbatch", "#n", "#mean (nats/target)", "what"]);
        let text = "it says more than a narrow terminal has room for";
        table.push(vec![Cell::Name("m0".into()), Cell::count(3), Cell::exact(1.0 / 3.0), Cell::Text(text.into())]);
        table.push(vec![Cell::Name("m|\u{1b}".into()), Cell::count(12), Cell::exact(0.5), Cell::Empty]);
        table.left_out = Some("2 more are not shown.".into());
        table
    }

    #[test]
    fn wide() {
        assert_eq!(
            table().set(200),
            [
                "microbatch   n  mean (nats/target)  what",
                "────────────────────────────────────────────────────────────────────────────────────",
                "m0           3  0.3333333333333333  it says more than a narrow terminal has room for",
                "m|\\u{1b}    12  0.5                 –",
                "2 more are not shown.",
            ]
        );
    }

    #[test]
    fn wrapped() {
        assert_eq!(
            table().set(60),
            [
                "                mean",
                "microbatch   n  (nats/target)  what",
                "─────────────────────────────────────────────────────────",
                "m0           3       0.333333  it says more than a narrow",
                "                               terminal has room for",
                "m|\\u{1b}    12       0.5       –",
                "2 more are not shown.",
            ]
        );
    }

    #[test]
    fn too_narrow_for_a_table() {
        assert_eq!(
            table().set(40)[..6],
            [
                "- microbatch          m0",
                "  n                   3",
                "  mean (nats/target)  0.333333",
                "  what                it says more than",
                "                      a narrow terminal",
                "                      has room for",
            ]
        );
    }

    #[test]
    fn a_column_of_nothing_is_left_out() {
        let mut table = Table::new(&["#a", "#b", "#c"]);
        table.push(vec![Cell::count(1), Cell::Empty, Cell::count(2)]);
        assert_eq!(table.without_empty_columns().set(80), ["a  c", "────", "1  2"]);
    }
}

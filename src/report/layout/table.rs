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
use tabled::settings::Alignment;
use tabled::settings::Modify;
use tabled::settings::Padding;
use tabled::settings::Style as Lines;
use tabled::settings::Width;
use tabled::settings::object::Columns;
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
        let [exact, short] = [false, true].map(|is_short| self.cells(is_short));
        let fits = |cells: &[Vec<String>]| total(&widths(cells)) <= width;
        let mut lines = match () {
            () if fits(&exact) => self.draw(exact, None),
            () if fits(&short) => self.draw(short, None),
            () => match self.text_width(&short, width) {
                Some(text) => self.draw(self.wrapped(short, text), Some(text)),
                None => self.paragraphs(&exact),
            },
        };
        lines.extend(self.left_out.clone());
        lines
    }

    /// Title row and rows, harmless, points aligned.
    fn cells(&self, is_short: bool) -> Vec<Vec<String>> {
        let mut columns: Vec<Vec<String>> = (0..self.columns.len())
            .map(|column| self.rows.iter().map(|row| row[column].shown(is_short)).collect())
            .collect();
        for (column, cells) in self.columns.iter().zip(&mut columns) {
            if column.is_number {
                number::align(cells);
            }
            cells.insert(0, column.title.clone());
        }
        (0..=self.rows.len()).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect()
    }

    /// What the text columns may have so that the table fits, if that is enough.
    fn text_width(&self, cells: &[Vec<String>], width: usize) -> Option<usize> {
        let widths = widths(cells);
        let is_text = |column: &usize| !self.columns[*column].is_number && widths[*column] > NARROWEST_TEXT;
        let texts = (0..widths.len()).filter(is_text).count();
        let fixed: usize = (0..widths.len()).filter(|column| !is_text(column)).map(|column| widths[column]).sum();
        let room = width.checked_sub(fixed + GAP * widths.len().saturating_sub(1))?.checked_div(texts)?;
        (room >= NARROWEST_TEXT).then_some(room)
    }

    /// With texts broken between words; a word longer than its column is left to `tabled`, which breaks it anywhere.
    fn wrapped(&self, mut cells: Vec<Vec<String>>, width: usize) -> Vec<Vec<String>> {
        for row in &mut cells {
            for (cell, _) in row.iter_mut().zip(&self.columns).filter(|(_, column)| !column.is_number) {
                *cell = wrap(&Line::from(&**cell), Indent { first: 0, rest: 0 }, Style::plain(width)).join("\n");
            }
        }
        cells
    }

    fn draw(&self, cells: Vec<Vec<String>>, text_width: Option<usize>) -> Vec<String> {
        let mut builder = Builder::default();
        cells.into_iter().for_each(|row| builder.push_record(row));
        let mut table = builder.build();
        table.with(Lines::empty().horizontals([(1, HorizontalLine::new('─'))])).with(Padding::new(0, GAP, 0, 0));
        for (index, column) in self.columns.iter().enumerate() {
            match (column.is_number, text_width) {
                (true, _) => table.with(Modify::new(Columns::one(index)).with(Alignment::right())),
                (false, Some(width)) => table.with(Modify::new(Columns::one(index)).with(Width::wrap(width))),
                (false, None) => &mut table,
            };
        }
        let drawn = table.to_string();
        let end =
            drawn.lines().filter(|line| !line.starts_with('─')).map(|line| get_string_width(line.trim_end())).max();
        let trim = |line: &str| match line.starts_with('─') {
            true => "─".repeat(end.unwrap_or(0)),
            false => line.trim_end().to_owned(),
        };
        drawn.lines().map(trim).collect()
    }

    /// One paragraph a row, for a terminal too narrow for the table.
    fn paragraphs(&self, cells: &[Vec<String>]) -> Vec<String> {
        let [titles, rows @ ..] = cells else { return Vec::new() };
        let longest = titles.iter().map(|title| get_string_width(title)).max().unwrap_or(0);
        let mut lines = Vec::new();
        for row in rows {
            for (index, (title, cell)) in titles.iter().zip(row).enumerate() {
                let mark = if index == 0 { "- " } else { "  " };
                lines.push(format!("{mark}{title:longest$}  {}", cell.trim_end()).trim_end().to_owned());
            }
        }
        lines
    }
}

fn widths(cells: &[Vec<String>]) -> Vec<usize> {
    let columns = cells.first().map_or(0, Vec::len);
    let width = |column: usize| cells.iter().map(|row| get_string_width(&row[column])).max().unwrap_or(0);
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
                "microbatch   n  mean (nats/target)  what",
                "────────────────────────────────────────────────────────────",
                "m0           3            0.333333  it says more than a",
                "                                    narrow terminal has room",
                "                                    for",
                "m|\\u{1b}    12            0.5       –",
                "2 more are not shown.",
            ]
        );
    }

    #[test]
    fn too_narrow_for_a_table() {
        assert_eq!(
            table().set(40)[..4],
            [
                "- microbatch          m0",
                "  n                   3",
                "  mean (nats/target)  0.3333333333333333",
                "  what                it says more than a narrow terminal has room for",
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

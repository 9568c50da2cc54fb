//! Bars of text: amounts beside one another, against what each should be.
use crate::report::number;
use crate::report::visible;
use tabled::grid::util::string::get_string_width;

/// Columns of the longest bar, at least and at most.
const BAR: (usize, usize) = (8, 40);

/// Amounts as multiples of what they should be, so that 1 is right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// What each amount is of, unescaped, and the amount.
    pub rows: Vec<(String, f64)>,
}

impl Bars {
    /// Set in text of a width: label, bar, number. A line marks where a right bar ends.
    pub(super) fn set(&self, width: usize) -> Vec<String> {
        let labels: Vec<String> = self.rows.iter().map(|(label, _)| visible::line(label)).collect();
        let numbers: Vec<String> = self.rows.iter().map(|(_, amount)| number::near_one(*amount)).collect();
        let longest = |texts: &[String]| texts.iter().map(|text| get_string_width(text)).max().unwrap_or(0);
        let taken = longest(&labels) + longest(&numbers) + 5;
        let columns = width.saturating_sub(taken).clamp(BAR.0, BAR.1);
        let most = self.rows.iter().map(|(_, amount)| *amount).fold(1.0, f64::max);
        let padding = longest(&labels);
        let rows = self.rows.iter().zip(labels.iter().zip(&numbers));
        rows.map(|((_, amount), (label, number))| {
            let space = " ".repeat(padding - get_string_width(label));
            format!("{label}{space}  {}  {number}", bar(*amount, most, columns))
        })
        .collect()
    }
}

/// A bar in eighths of a column, with a line where 1 ends.
fn bar(amount: f64, most: f64, columns: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (amount.max(0.0) / most * columns as f64 * 8.0).round() as usize;
    let right = ((columns as f64 / most).round() as usize).clamp(1, columns);
    let mut cells: Vec<char> = vec!['█'; eighths / 8];
    cells.push(EIGHTHS[eighths % 8]);
    cells.resize(columns, ' ');
    cells.insert(right, '│');
    cells.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_bar_ends_at_the_line() {
        let bars =
            Bars { rows: vec![("a".into(), 1.0), ("bb".into(), 2.0), ("c\u{1b}".into(), 0.25), ("d".into(), -1.0)] };
        assert_eq!(
            bars.set(24),
            ["a        ████│      1", "bb       ████│████  2", "c\\u{1b}  █   │      0.25", "d            │      -1",]
        );
    }

    #[test]
    fn a_bar_keeps_its_columns() {
        for (amount, most) in [(0.0, 1.0), (1.0, 1.0), (1e9, 1e9), (1.0, 1e9), (f64::NAN, 1.0)] {
            assert_eq!(bar(amount, most, 10).chars().count(), 11, "{amount} of {most}");
        }
    }
}

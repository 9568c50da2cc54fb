//! Lines of spans broken into lines of a width. Words are never broken: names and numbers can be copied.
use super::Line;
use super::Role;
use crate::report::Style;
use crate::report::visible;
use tabled::grid::util::string::get_string_width;

/// Where the lines of a text begin, in columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Indent {
    /// What stands already in front of the first line.
    pub(super) first: usize,
    /// Where the others begin.
    pub(super) rest: usize,
}

/// A word: pieces that no space parts.
type Word = Vec<(Role, String)>;

/// Breaks spans into lines, escaped and painted. The first has no indent of its own; the others begin with `rest`
/// spaces.
pub(super) fn wrap(line: &Line, indent: Indent, style: Style) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut column = indent.first;
    let mut is_empty = true;
    for word in words(line) {
        let width: usize = word.iter().map(|(_, text)| get_string_width(text)).sum();
        if !is_empty && column + 1 + width > style.width {
            lines.push(" ".repeat(indent.rest));
            (column, is_empty) = (indent.rest, true);
        }
        let current = lines.last_mut().expect("bug: no line");
        if !is_empty {
            current.push(' ');
            column += 1;
        }
        for (role, text) in &word {
            current.push_str(&style.paint(*role, text));
        }
        column += width;
        is_empty = false;
    }
    lines
}

/// The spans' words, harmless; what is to be typed stands in backticks and is one word.
fn words(line: &Line) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut is_open = false;
    for span in &line.0 {
        let text = visible::visible(&span.text);
        if span.role == Role::Code {
            let code = (Role::Code, format!("`{}`", text.replace('\n', " ")));
            if is_open {
                words.last_mut().expect("bug: no word").push(code)
            } else {
                words.push(vec![code])
            }
            is_open = true;
            continue;
        }
        for (index, piece) in text.split([' ', '\n']).enumerate() {
            is_open &= index == 0;
            if piece.is_empty() {
                continue;
            }
            let piece = (span.role, piece.to_owned());
            if is_open {
                words.last_mut().expect("bug: no word").push(piece)
            } else {
                words.push(vec![piece])
            }
            is_open = true;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_together_across_spans() {
        let line = Line::new().text("run ").code("receipt explain").text(", then (").name("m0").text(") again");
        let lines = wrap(&line, Indent { first: 0, rest: 2 }, Style::plain(24));
        assert_eq!(lines, ["run `receipt explain`,", "  then (m0) again"]);
    }

    #[test]
    fn a_word_longer_than_the_line_is_kept() {
        let line = Line::from("a bbbbbbbbbbbb c");
        assert_eq!(wrap(&line, Indent { first: 0, rest: 0 }, Style::plain(5)), ["a", "bbbbbbbbbbbb", "c"]);
        assert_eq!(wrap(&line, Indent { first: 0, rest: 0 }, Style::plain(usize::MAX)), ["a bbbbbbbbbbbb c"]);
    }

    #[test]
    fn colour_takes_no_room() {
        let line = Line::new().strong("aa bb").text(" cc");
        let style = Style { color: true, width: 8 };
        let lines = wrap(&line, Indent { first: 0, rest: 0 }, style);
        assert_eq!(lines, ["\u{1b}[1maa\u{1b}[0m \u{1b}[1mbb\u{1b}[0m cc"]);
    }
}

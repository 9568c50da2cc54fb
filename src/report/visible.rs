//! Text from outside made harmless and visible: no control character and no bidirectional override reaches a terminal.
use std::fmt::Write;

/// The text with every character that could move a cursor, colour a terminal or reorder a line written as `\u{1b}`.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            write!(out, "\\u{{{:x}}}", u32::from(c)).expect("bug: writing to a string fails");
        } else {
            out.push(c);
        }
    }
    out
}

/// Controls (C0, C1, DEL) other than the newline, and the characters that Unicode uses to hide or reorder text
/// (UAX #9 and UTR #36).
fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{061c}')
}

/// The same, in Markdown: nothing in it is markup.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\n' => out.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '!' | '@' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hidden_is_left() {
        assert_eq!(visible("a\u{1b}[31mb\u{202e}c\u{7f}\u{9b}\n"), "a\\u{1b}[31mb\\u{202e}c\\u{7f}\\u{9b}\n");
        assert_eq!(visible("µ-häß 漢"), "µ-häß 漢");
    }

    #[test]
    fn nothing_is_markup() {
        assert_eq!(markdown("<img src=x>|*b*"), "&lt;img src=x&gt;\\|\\*b\\*");
    }
}

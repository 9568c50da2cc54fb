//! Text from outside made harmless and visible: no control character and no bidirectional override reaches a terminal,
//! no line is a command to a CI runner, and nothing is markup.
use crate::manifest::is_unseen;
use std::fmt::Write;

/// The text with every character that could move a cursor, colour a terminal or reorder a line written as `\u{1b}`.
///
/// `##[` is a command of GitHub's and Azure's runners anywhere in a line, so its bracket is written that way too.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if (is_unseen(c) && c != '\n') || (c == '[' && out.ends_with("##")) {
            write!(out, "\\u{{{:x}}}", u32::from(c)).expect("bug: writing to a string fails");
        } else {
            out.push(c);
        }
    }
    out
}

/// The same on one line.
pub fn line(text: &str) -> String {
    visible(text).replace('\n', "\\u{a}")
}

/// The text with no line that begins with `::`, white space aside, which GitHub's runner takes for a command.
///
/// Wrapping can bring any word to the beginning of a line, so this comes last.
pub fn without_commands(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let rest = line.trim_start();
        match rest.strip_prefix("::") {
            Some(command) => {
                out.push_str(&line[..line.len() - rest.len()]);
                out.push_str("\\u{3a}:");
                out.push_str(command);
            }
            None => out.push_str(line),
        }
    }
    out
}

/// The same, in Markdown: nothing in it is markup, names a person or an issue, or becomes a link or a formula.
///
/// A backslash does not keep GitHub from finding mentions and issue numbers in what was rendered; a comment does.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let visible = visible(text);
    let mut rest = visible.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '$' => out.push_str("<span>$</span>"),
            '\n' => out.push(' '),
            '@' | '#' => {
                out.push(c);
                out.push_str("<!-- -->");
            }
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' => {
                out.push('\\');
                out.push(c);
            }
            ':' if matches!(rest.peek(), Some(':' | '/')) || out.ends_with("\\:") => out.push_str("\\:"),
            '.' if out.ends_with("www") => out.push_str("\\."),
            _ => out.push(c),
        }
    }
    out
}

/// A code span in Markdown, in which nothing is markup; `in_table` where a bar would end the cell.
pub fn code_span(text: &str, in_table: bool) -> String {
    let text = line(text);
    let text = if in_table { text.replace('|', "\\|") } else { text };
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if text.is_empty() || text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hidden_is_left() {
        assert_eq!(visible("a\u{1b}[31mb\u{202e}c\u{7f}\u{9b}\n"), "a\\u{1b}[31mb\\u{202e}c\\u{7f}\\u{9b}\n");
        assert_eq!(visible("µ-häß 漢"), "µ-häß 漢");
        assert_eq!(line("a\nb\r"), "a\\u{a}b\\u{d}");
    }

    #[test]
    fn nothing_is_a_command_to_a_runner() {
        assert_eq!(without_commands("::error::x\n  ::set\nok ::a\n"), "\\u{3a}:error::x\n  \\u{3a}:set\nok ::a\n");
        assert_eq!(visible("##[error]x"), "##\\u{5b}error]x");
    }

    #[test]
    fn nothing_is_markup() {
        assert_eq!(markdown("<img src=x>|*b*"), "&lt;img src=x&gt;\\|\\*b\\*");
        assert_eq!(markdown("::error::x"), "\\:\\:error\\:\\:x");
        assert_eq!(markdown("https://a www.b"), "https\\://a www\\.b");
        assert_eq!(markdown("@all #1 $x$"), "@<!-- -->all #<!-- -->1 <span>$</span>x<span>$</span>");
        assert_eq!(markdown("K: 4"), "K: 4");
    }

    #[test]
    fn code_spans_hold_anything() {
        assert_eq!(code_span("a|b", true), "`a\\|b`");
        assert_eq!(code_span("a|b", false), "`a|b`");
        assert_eq!(code_span("`x``", false), "``` `x`` ```");
        assert_eq!(code_span("", false), "`  `");
    }
}

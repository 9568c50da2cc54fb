//! So much of a line as can be shown.
use crate::manifest::visible::visible;
use std::ops::Range;

/// Bytes of a line shown before what is meant.
const BEFORE: usize = 60;
/// Bytes shown of what is meant.
const WITHIN: usize = 80;
/// Bytes shown after it.
const AFTER: usize = 40;

/// A line, or a part of it, safe to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// One line of text, with `…` where it was cut.
    pub text: String,
    /// What is meant, in bytes of `text`, on character boundaries.
    pub highlight: Range<usize>,
}

impl Excerpt {
    /// The part of a line around a span of it; both are bytes, of whatever kind.
    pub(crate) fn of(line: &[u8], span: Range<usize>) -> Self {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let start = span.start.min(line.len());
        let end = span.end.clamp(start, line.len()).min(start + WITHIN);
        let from = boundary(line, start.saturating_sub(BEFORE));
        let until = boundary(line, (end + AFTER).min(line.len()));
        let part = |range: Range<usize>| visible(&String::from_utf8_lossy(&line[range]));
        let (start, end) = (boundary(line, start), boundary(line, end).max(boundary(line, start)));
        let mut text = String::new();
        if from > 0 {
            text.push('…');
        }
        text.push_str(&part(from..start));
        let highlighted = text.len();
        text.push_str(&part(start..end));
        let highlight = highlighted..text.len();
        text.push_str(&part(end..until));
        if until < line.len() {
            text.push('…');
        }
        Excerpt { text, highlight }
    }
}

/// The last place up to `at` where a character begins; of bytes that are no UTF-8, near enough.
fn boundary(line: &[u8], at: usize) -> usize {
    let is_inside = |at: &usize| line.get(*at).is_some_and(|byte| byte & 0xC0 == 0x80);
    (at.saturating_sub(3)..=at).rev().find(|at| !is_inside(at)).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_long_line_is_cut_around_what_is_meant() {
        let line = "x".repeat(10_000_000);
        let excerpt = Excerpt::of(line.as_bytes(), 5_000_000..9_000_000);
        assert!(excerpt.text.len() < 200);
        assert!(excerpt.text.starts_with("…x") && excerpt.text.ends_with("x…"));
        assert_eq!(excerpt.highlight, 63..143);
        assert_eq!(Excerpt::of(b"abc\r", 1..2), Excerpt { text: "abc".to_owned(), highlight: 1..2 });
    }

    proptest! {
        #[test]
        fn any_bytes_and_any_span_can_be_shown(
            line in prop_oneof![prop::collection::vec(any::<u8>(), 0..300), ".{0,200}".prop_map(String::into_bytes)],
            start in 0..400_usize, length in 0..400_usize,
        ) {
            let Excerpt { text, highlight } = Excerpt::of(&line, start..start + length);
            prop_assert!(text.get(highlight).is_some());
            prop_assert!(!text.chars().any(char::is_control));
        }
    }
}

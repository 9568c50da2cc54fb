//! Text from outside, made safe to show: nothing in it moves a cursor, sets a colour or turns the direction of writing.

/// The same text with every character that would not be seen, or would do something, replaced by one that is seen.
///
/// Control characters become their pictures (U+001B becomes `␛`); what has no picture becomes U+FFFD.
pub fn visible(text: &str) -> String {
    text.chars().map(seen).collect()
}

/// Whether a character would not be seen, or would do something.
pub fn is_unseen(character: char) -> bool {
    seen(character) != character
}

fn seen(character: char) -> char {
    match character {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(character)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\u{7f}' => '\u{2421}',
        // C1 controls; soft hyphen; Arabic letter mark; zero-width characters and direction marks; separators;
        // embeddings, overrides and isolates; invisible operators; byte-order mark; interlinear annotation; tags.
        '\u{80}'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => char::REPLACEMENT_CHARACTER,
        _ => character,
    }
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn nothing_unseen_is_left() {
        assert_eq!(visible("a\u{1b}[31mb\u{7f}\n"), "a␛[31mb␡␊");
        assert_eq!(visible("\u{202e}x\u{2066}\u{9b}1m"), "\u{fffd}x\u{fffd}\u{fffd}1m");
        assert_eq!(visible("héllo 😀 <script>"), "héllo 😀 <script>");
    }
}

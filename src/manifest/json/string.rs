//! JSON strings: what is wrong in one, and its value.
use std::ops::Range;

/// Where a string literal ends, or that it doesn't.
#[derive(Debug, PartialEq)]
pub(super) struct Scanned {
    /// One past the closing quote, or the end of the text.
    pub(super) end: usize,
    pub(super) is_closed: bool,
}

/// Walks over the string literal that begins at `start`, and tells each fault in it.
pub(super) fn scan(text: &[u8], start: usize, mut fault: impl FnMut(Range<usize>, &str)) -> Scanned {
    let mut at = start + 1;
    while at < text.len() {
        match text[at] {
            b'"' => return Scanned { end: at + 1, is_closed: true },
            b'\\' => at += escape(text, at, &mut fault),
            byte @ 0..0x20 => {
                fault(at..at + 1, &format!("the control character U+{byte:04X} stands unescaped in a string"));
                at += 1;
            }
            0x20..0x80 => at += 1,
            _ => at += multibyte(text, at, &mut fault),
        }
    }
    Scanned { end: text.len(), is_closed: false }
}

/// Length of the escape that begins at `at`.
fn escape(text: &[u8], at: usize, fault: &mut impl FnMut(Range<usize>, &str)) -> usize {
    match text.get(at + 1) {
        None => 1,
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
        Some(b'u') => match unit(text, at) {
            None => {
                fault(at..at + 2, "`\\u` has four hexadecimal digits after it");
                2
            }
            Some(0xD800..0xDC00) if matches!(unit(text, at + 6), Some(0xDC00..0xE000)) => 12,
            Some(0xD800..0xE000) => {
                fault(at..at + 6, "half of a surrogate pair stands alone");
                6
            }
            Some(_) => 6,
        },
        Some(&byte) => {
            let length = 1 + usize::from(byte.is_ascii());
            fault(at..at + length, "JSON has no such escape");
            length
        }
    }
}

/// The UTF-16 code unit of the `\uXXXX` that begins at `at`.
fn unit(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |value, &digit| Some(value << 4 | (digit as char).to_digit(16)? as u16))
}

/// Length of the character, or of the bytes that are none, at `at`.
fn multibyte(text: &[u8], at: usize, fault: &mut impl FnMut(Range<usize>, &str)) -> usize {
    let window = &text[at..text.len().min(at + 4)];
    let chunk = window.utf8_chunks().next().expect("bug: a window holds a byte");
    match chunk.valid().chars().next() {
        Some(character) => character.len_utf8(),
        None => {
            let length = chunk.invalid().len();
            fault(at..at + length, "invalid UTF-8");
            length
        }
    }
}

/// The value of a string literal, quotes and all; what is wrong in it becomes U+FFFD.
pub(super) fn decode(literal: &[u8]) -> String {
    let inner = literal.strip_prefix(b"\"").unwrap_or(literal);
    let inner = inner.strip_suffix(b"\"").unwrap_or(inner);
    if !inner.contains(&b'\\') {
        return String::from_utf8_lossy(inner).into_owned();
    }
    let mut value = String::new();
    let mut at = 0;
    while let Some(clean) = inner[at..].iter().position(|&byte| byte == b'\\') {
        value.push_str(&String::from_utf8_lossy(&inner[at..at + clean]));
        at += clean;
        let length = escape(inner, at, &mut |_, _| {});
        value.push(match (length, inner.get(at + 1)) {
            (12, _) => pair(unit(inner, at), unit(inner, at + 6)),
            (6, _) => {
                unit(inner, at).and_then(|unit| char::from_u32(unit.into())).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            (_, Some(b'b')) => '\u{8}',
            (_, Some(b'f')) => '\u{c}',
            (_, Some(b'n')) => '\n',
            (_, Some(b'r')) => '\r',
            (_, Some(b't')) => '\t',
            (_, Some(&byte @ (b'"' | b'\\' | b'/'))) => byte.into(),
            _ => char::REPLACEMENT_CHARACTER,
        });
        at += length;
    }
    value.push_str(&String::from_utf8_lossy(&inner[at..]));
    value
}

fn pair(high: Option<u16>, low: Option<u16>) -> char {
    let mut characters = char::decode_utf16([high, low].into_iter().flatten());
    characters.next().and_then(Result::ok).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn faults(literal: &[u8]) -> Vec<(Range<usize>, String)> {
        let mut faults = Vec::new();
        scan(literal, 0, |span, message| faults.push((span, message.to_owned())));
        faults
    }

    #[test]
    fn each_fault_at_its_bytes() {
        assert_eq!(faults(b"\"a\x1bb\""), [(2..3, "the control character U+001B stands unescaped in a string".into())]);
        assert_eq!(faults(b"\"\\x\\ud800\\u12\xff\"").len(), 4);
        assert_eq!(faults(r#""\ud83d\ude00é€😀""#.as_bytes()), []);
        assert_eq!(decode(br#""\ud83d\ude00\n\u00e9\"\ud800!""#), "😀\né\"\u{fffd}!");
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(bytes in prop::collection::vec(prop_oneof![
            any::<u8>(), Just(b'\\'), Just(b'u'), Just(b'd'), Just(b'8'), Just(b'c'), Just(b'0'), Just(b'n'), 0x20..0x7f_u8,
        ], 0..24)) {
            let mut literal = vec![b'"'];
            literal.extend(bytes);
            literal.push(b'"');
            let scanned = scan(&literal, 0, |_, _| {});
            prop_assume!(scanned.is_closed && scanned.end == literal.len());
            let read = serde_json::from_slice::<String>(&literal);
            prop_assert_eq!(read.is_ok(), faults(&literal).is_empty(), "{:?}", String::from_utf8_lossy(&literal));
            if let Ok(value) = read {
                prop_assert_eq!(decode(&literal), value);
            }
        }
    }
}

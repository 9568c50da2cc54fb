//! What is no string and no bracket: numbers and words, good and bad.
use crate::finding::Code;
use crate::manifest::json::number::Form;
use crate::manifest::json::number::form;
use crate::manifest::json::tree::Kind;

/// One past the run of bytes that would be taken for one number or word.
pub(super) fn run(text: &[u8], start: usize) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-._".contains(byte) || !byte.is_ascii();
    start + text[start..].iter().take_while(|byte| is_part(byte)).count()
}

/// What a number or word is, and what is wrong with it.
pub(super) fn scalar(text: &[u8]) -> (Kind, Option<(Code, String)>) {
    match text {
        b"null" => return (Kind::Null, None),
        b"true" => return (Kind::Bool(true), None),
        b"false" => return (Kind::Bool(false), None),
        _ => {}
    }
    if is_nonfinite(text) {
        let message = format!("{} is not a JSON number; record the field `nonfinite` instead", lossy(text));
        return (Kind::Bad, Some((Code::GA106, message)));
    }
    let begins_a_number = text.first().is_some_and(|&byte| byte.is_ascii_digit() || b"+-.".contains(&byte));
    if begins_a_number {
        return match form(text) {
            Form::Integer | Form::Real => (Kind::Number, None),
            Form::Wrong(why) => (Kind::Bad, Some((Code::GA101, format!("{} is not JSON: {why}", lossy(text))))),
        };
    }
    if std::str::from_utf8(text).is_err() {
        return (Kind::Bad, Some((Code::GA101, "invalid UTF-8".to_owned())));
    }
    (Kind::Bad, Some((Code::GA101, format!("{} is not a JSON value", lossy(text)))))
}

/// Whether a word stands for a number that is not finite, in the spelling of some language.
pub(crate) fn is_nonfinite(text: &[u8]) -> bool {
    let unsigned = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    [&b"nan"[..], b"inf", b"infinity"].iter().any(|word| unsigned.eq_ignore_ascii_case(word))
}

fn lossy(text: &[u8]) -> String {
    crate::manifest::explain::quote(&String::from_utf8_lossy(text))
}

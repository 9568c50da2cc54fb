//! The grammar of JSON numbers (RFC 8259 §6), told apart finely enough to say what is wrong.

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Digits, possibly after a minus sign.
    Integer,
    /// With a fraction or an exponent.
    Real,
    /// Not as JSON writes numbers; says why.
    Wrong(&'static str),
}

/// Tells how a number is written.
pub(crate) fn form(text: &[u8]) -> Form {
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    if unsigned.first() == Some(&b'+') {
        return Form::Wrong("a number has no plus sign");
    }
    let (whole, rest) = digits(unsigned);
    if whole.is_empty() {
        return Form::Wrong("a number begins with a digit");
    }
    if whole.len() > 1 && whole[0] == b'0' {
        return Form::Wrong("a number has no leading zeros");
    }
    if rest.is_empty() {
        return Form::Integer;
    }
    let mut rest = rest;
    if let Some(after) = rest.strip_prefix(b".") {
        let (fraction, after) = digits(after);
        if fraction.is_empty() {
            return Form::Wrong("a decimal point has digits after it");
        }
        rest = after;
    }
    if let [b'e' | b'E', after @ ..] = rest {
        let (exponent, after) = digits(after.strip_prefix(b"+").or(after.strip_prefix(b"-")).unwrap_or(after));
        if exponent.is_empty() {
            return Form::Wrong("an exponent has digits");
        }
        rest = after;
    }
    if rest.is_empty() { Form::Real } else { Form::Wrong("a number is followed by something else") }
}

fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn told_as_serde_json_tells_them() {
        let parts = ["", "-", "+", "0", "1", "9", ".", "e", "E", "x"];
        let mut texts = vec![String::new()];
        for _ in 0..5 {
            texts = texts.iter().flat_map(|text| parts.map(|part| format!("{text}{part}"))).collect();
        }
        for text in texts.iter().filter(|text| !text.is_empty()) {
            let accepted = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
            assert_eq!(!matches!(form(text.as_bytes()), Form::Wrong(_)), accepted, "{text}");
        }
    }
}

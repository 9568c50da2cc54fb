//! Numbers and strings as RFC 8785 writes them.
//!
//! Invariant: the bytes are those that `serde_jcs` writes for the same value (tested by property).
use super::Count;

/// Appends a number as ECMAScript's `Number::toString` writes it (RFC 8785 §3.2.2.3).
///
/// # Panics
///
/// If it is NaN or infinite: those are kept out by [`Finite`](super::Finite), so one here is a bug.
pub fn number(out: &mut Vec<u8>, value: f64) {
    assert!(value.is_finite(), "bug: a nonfinite number reached canonical bytes");
    out.extend_from_slice(ryu_js::Buffer::new().format_finite(value).as_bytes());
}

/// Appends a count. Below 10^21 ECMAScript writes all the digits of an integer.
pub fn integer(out: &mut Vec<u8>, value: Count) {
    out.extend_from_slice(itoa::Buffer::new().format(value.get()).as_bytes());
}

/// Appends a string in quotes, escaped as RFC 8785 §3.2.2.2 says: only quote, backslash and control characters, the
/// latter by their short form where they have one.
#[inline(always)]
pub fn string(out: &mut Vec<u8>, value: &str) {
    out.push(b'"');
    // Without an early end the look at every byte goes several bytes at a time, and for a literal not at all.
    match value.bytes().fold(false, |any, byte| any | is_escaped(byte)) {
        false => out.extend_from_slice(value.as_bytes()),
        true => escaped(out, value.as_bytes()),
    }
    out.push(b'"');
}

fn is_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn escaped(out: &mut Vec<u8>, mut rest: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    while let Some(clean) = rest.iter().position(|&byte| is_escaped(byte)) {
        out.extend_from_slice(&rest[..clean]);
        match rest[clean] {
            byte @ (b'"' | b'\\') => out.extend([b'\\', byte]),
            0x08 => out.extend(b"\\b"),
            0x09 => out.extend(b"\\t"),
            0x0A => out.extend(b"\\n"),
            0x0C => out.extend(b"\\f"),
            0x0D => out.extend(b"\\r"),
            byte => {
                out.extend(b"\\u00");
                out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xF)]]);
            }
        }
        rest = &rest[clean + 1..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use serde_jcs::to_vec;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b">".to_vec();
        write(&mut out);
        String::from_utf8(out).expect("UTF-8").split_off(1)
    }

    /// RFC 8785, appendix B: bits and text.
    const NUMBERS: &[(u64, &str)] = &[
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ];

    #[test]
    fn the_vectors_of_the_rfc() {
        for &(bits, text) in NUMBERS {
            assert_eq!(written(|out| number(out, f64::from_bits(bits))), text);
        }
        let escaped = written(|out| string(out, "\u{20ac}$\u{f}\nA'B\"\\\\\"/"));
        assert_eq!(escaped, r#""€$\u000f\nA'B\"\\\\\"/""#);
        assert_eq!(
            written(|out| string(out, "\u{8}\t\u{b}\u{c}\r\0\u{1f}\u{7f}")),
            "\"\\b\\t\\u000b\\f\\r\\u0000\\u001f\u{7f}\""
        );
        assert_eq!(written(|out| string(out, "")), "\"\"");
        assert_eq!(written(|out| integer(out, Count::MAX)), "9007199254740992");
    }

    #[test]
    #[should_panic(expected = "bug: a nonfinite number")]
    fn a_nonfinite_number_is_a_bug() {
        number(&mut Vec::new(), f64::INFINITY);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn numbers_are_those_of_serde_jcs(
            value in prop_oneof![any::<u64>().prop_map(f64::from_bits), any::<i32>().prop_map(f64::from), -1e3..1e3]
        ) {
            prop_assume!(value.is_finite());
            let text = written(|out| number(out, value));
            prop_assert_eq!(text.as_bytes(), to_vec(&value).expect("finite"));
            prop_assert_eq!(text.parse::<f64>().expect("a number"), value);
        }

        #[test]
        fn counts_are_those_of_serde_jcs(value in 0..=1_u64 << 53) {
            let count = Count::new(value).expect("in range");
            let text = written(|out| integer(out, count));
            prop_assert_eq!(text.as_bytes(), to_vec(&count).expect("in range"));
        }

        #[test]
        fn strings_are_those_of_serde_jcs(value in prop_oneof![any::<String>(), "[\\x00-\\x7f\\u0080-\\u00ff]{0,40}"]) {
            let text = written(|out| string(out, &value));
            prop_assert_eq!(text.as_bytes(), to_vec(&value).expect("a string"));
            prop_assert_eq!(serde_json::from_str::<String>(&text).expect("a string"), value);
        }
    }
}

//! Numbers as they are shown: exact ones with the shortest digits that read back to the same binary64, ratios with six
//! significant digits.
use crate::canonical;

/// Significant digits of a ratio.
const DIGITS: usize = 6;

/// The shortest decimal that reads back to the same number: as a receipt's JSON has it, but for small numbers, which
/// have an exponent in place of zeros.
pub fn exact(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    if value != 0.0 && value.abs() < 1e-4 {
        return format!("{value:e}");
    }
    let mut out = Vec::new();
    canonical::number(&mut out, value);
    String::from_utf8(out).expect("bug: a number is not UTF-8")
}

/// Six significant digits, without the zeros that say nothing.
pub fn ratio(value: f64) -> String {
    significant(value, DIGITS)
}

/// A number that should be 1: where six digits would not tell it from 1, by how much it differs.
pub fn near_one(value: f64) -> String {
    let difference = value - 1.0;
    if difference == 0.0 || difference.abs() > 1e-4 {
        return ratio(value);
    }
    let sign = if difference < 0.0 { '-' } else { '+' };
    format!("1 {sign} {}", significant(difference.abs(), 2))
}

/// A relative difference in per cent.
pub fn percent(value: f64) -> String {
    format!("{} %", significant(value * 100.0, 3))
}

/// So many significant digits: plain between 10⁻⁴ and 10⁶ or so, else with an exponent.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return exact(value);
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').expect("bug: no exponent in scientific notation");
    let exponent: i32 = exponent.parse().expect("bug: an exponent that is no integer");
    let places = digits as i32 - 1 - exponent;
    if (-4..0).contains(&exponent) || (0..=digits as i32).contains(&exponent) {
        without_zeros(&format!("{value:.*}", places.max(0) as usize)).to_owned()
    } else {
        format!("{}e{exponent}", without_zeros(mantissa))
    }
}

fn without_zeros(decimal: &str) -> &str {
    if decimal.contains('.') { decimal.trim_end_matches('0').trim_end_matches('.') } else { decimal }
}

/// Pads the numbers of a column so that their decimal points stand below each other. Texts without digits are left.
pub fn align(column: &mut [String]) {
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
    let after_point = |text: &str| text.find('.').map_or(0, |point| text.len() - point);
    let longest = column.iter().filter(|text| is_number(text)).map(|text| after_point(text)).max().unwrap_or(0);
    for text in column.iter_mut().filter(|text| is_number(text)) {
        let padding = longest - after_point(text);
        text.push_str(&" ".repeat(padding));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_numbers_read_back() {
        for (value, text) in
            [(0.1 + 0.2, "0.30000000000000004"), (0.64, "0.64"), (3.0, "3"), (1e300, "1e+300"), (1e-5, "1e-5")]
        {
            assert_eq!(exact(value), text);
            assert_eq!(text.parse(), Ok(value));
        }
        assert_eq!(exact(f64::INFINITY), "inf");
    }

    #[test]
    fn ratios_have_six_digits() {
        for (value, text) in [
            (1.0, "1"),
            (0.3, "0.3"),
            (1.0 / 3.0, "0.333333"),
            (16.0 / 7.0, "2.28571"),
            (65536.0, "65536"),
            (123_456.7, "123457"),
            (12_345_678.0, "1.23457e7"),
            (1.0 / 3e5, "3.33333e-6"),
            (0.999_999_9, "1"),
            (1.000_01, "1.00001"),
            (-0.5, "-0.5"),
            (0.0, "0"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(ratio(value), text);
        }
        assert_eq!(percent(1.0 / 6.0), "16.7 %");
        assert_eq!(near_one(1.0 - 1.0 / 1_048_576.0), "1 - 9.5e-7");
        assert_eq!(near_one(1.25), "1.25");
    }

    #[test]
    fn points_stand_below_each_other() {
        let mut column = ["0.64", "12", "–", "0.5333"].map(str::to_owned);
        align(&mut column);
        assert_eq!(column, ["0.64  ", "12     ", "–", "0.5333"]);
    }
}

//! Numbers and counts in messages.

/// A ratio or another derived number with six significant digits: further ones are noise.
pub fn significant(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    let magnitude = rounded.abs();
    if rounded != 0.0 && !(1e-5..1e15).contains(&magnitude) && rounded.is_finite() {
        return format!("{rounded:e}");
    }
    format!("{rounded}")
}

/// `1 window`, `2 windows`.
pub fn count(number: u64, noun: &str) -> String {
    match (number, noun.strip_suffix("ch").or(noun.strip_suffix('x'))) {
        (1, _) => format!("1 {noun}"),
        (_, Some(_)) => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::count;
    use super::significant;

    #[test]
    fn one_is_no_plural() {
        assert_eq!(count(1, "microbatch"), "1 microbatch");
        assert_eq!(count(0, "microbatch"), "0 microbatches");
        assert_eq!(count(2, "window"), "2 windows");
    }

    #[test]
    fn six_digits_are_shown() {
        for (value, shown) in [
            (10.0 / 3.0, "3.33333"),
            (3.999_999_995_833_334, "4"),
            (1.7 / 7.0, "0.242857"),
            (1_234_567.0, "1234570"),
            (-2.5, "-2.5"),
            (0.0, "0"),
            (1.25e-9, "1.25e-9"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(significant(value), shown);
        }
    }
}

//! Rules over the update clock: GA3xx.
use super::Rule;

#[cfg(test)]
pub(in crate::rules) mod testing;
mod ticks;

registry! {
    /// In order of code.
    CLOCK: Rule = RULE, test crate::rules::check_rule;
    optimizer_step_count, scheduler_step_count, zero_inside_window, zero_forgotten,
}

/// `"2 scheduler ticks"`.
pub(in crate::rules) fn count(number: u64, what: &str) -> String {
    match number {
        0 => format!("no {what}"),
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

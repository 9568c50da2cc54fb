//! Rules over the update clock: GA3xx.
use super::Rule;
use crate::numeric::shown;

#[cfg(test)]
pub(in crate::rules) mod testing;
mod ticks;

registry! {
    /// In order of code.
    CLOCK: Rule = RULE, test crate::rules::check_rule;
    optimizer_step_count, scheduler_step_count, zero_inside_window, zero_forgotten, clock_order, skip_clock, learning_rate_off_schedule, update_counter, repeated_zero, window_size, label_off_clock,
}

/// `"2 scheduler ticks"`, `"no microbatch"`.
pub(in crate::rules) fn count(number: u64, what: &str) -> String {
    match number {
        0 => format!("no {what}"),
        _ => shown::count(number, what),
    }
}

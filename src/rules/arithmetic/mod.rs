//! Rules over the exact ledger: GA2xx.
use super::Rule;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

registry! {
    /// In order of code.
    ARITHMETIC: Rule = RULE, test crate::rules::check_rule;
    loss_drift, gradient_drift, weight_drift, denominator_mismatch, norm_mismatch, empty_microbatch, accumulator_drift,
    missing_evidence,
}

//! Rules about the manifest itself: a finding rejects it, and nothing is computed.
use super::Rule;

registry! {
    /// In order of code.
    MALFORMED: Rule = RULE, test crate::rules::check_rule;
    syntax_error, unsupported_schema, unexpected_shape, duplicate_key, unsafe_count, nonfinite_number, bad_identifier, duplicate_microbatch, gradient_dimension, rank_set, window_gap, inconsistent_accumulation, window_without_targets, tail_disagreement, limit_exceeded, broken_reference, contract_disagreement, impossible_contract,
}

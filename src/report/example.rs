//! The nine-target example, for a terminal.
use crate::canonical::{Count, Finite};
use crate::report::Style;
use crate::report::layout::{Block, Line, Section, text};
use crate::report::number;
use crate::selfcheck::example::Example;

/// The example's three parts.
pub fn text(example: &Example, style: Style) -> String {
    let Example { accumulation, recomputation, late_overflow, .. } = example;
    let facts = |facts: Vec<(&'static str, String)>| {
        Block::Facts(facts.into_iter().map(|(name, fact)| (name, Line::from(fact))).collect())
    };
    let grids: Vec<String> = accumulation.grids.iter().map(|[rows, length]| format!("[{rows}, {length}]")).collect();
    let sections = [
        Section::new("One update over microbatches, beside the full batch").with(facts(vec![
            ("grids", grids.join(", ")),
            ("targets", counts(&accumulation.valid_targets)),
            ("seeds S·n/N", reals(&accumulation.seeds)),
            ("mean losses", reals(&accumulation.mean_losses)),
            ("gradient norm", number::exact(accumulation.gradient_norm.get())),
            ("clip coefficient", number::exact(accumulation.clip_coefficient.get())),
            ("loss scale", moves(accumulation.loss_scale)),
            ("largest difference of a gradient", number::ratio(accumulation.gradient_difference.get())),
            ("largest difference of a weight", number::ratio(accumulation.weight_difference.get())),
        ])),
        Section::new("The full batch with every block run again, dropout 0.5").with(facts(vec![
            (
                "retained",
                format!(
                    "{} bytes of payload when the loss has been computed, {} where everything is recorded",
                    recomputation.retained_bytes, recomputation.retained_bytes_recorded
                ),
            ),
            ("block runs beyond the forward's", recomputation.extra_block_runs.to_string()),
            ("words drawn after forward, after backward", counts(&recomputation.counter)),
            ("gradients whose bits differ", recomputation.gradients_differing.to_string()),
        ])),
        Section::new("An overflow in the last microbatch, after a committed update").with(facts(vec![
            ("microbatches completed", late_overflow.microbatches_completed.to_string()),
            ("loss scale", moves(late_overflow.loss_scale)),
            ("weights, moments and clocks changed", late_overflow.changed.to_string()),
            ("numbers in which the retry differs", late_overflow.retry_differing.to_string()),
        ])),
    ];
    text::sections(&sections, style)
}

fn counts(counts: &[Count]) -> String {
    counts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn reals(reals: &[Finite]) -> String {
    reals.iter().map(|real| number::exact(real.get())).collect::<Vec<_>>().join(", ")
}

fn moves([before, after]: [Finite; 2]) -> String {
    format!("{} → {}", number::exact(before.get()), number::exact(after.get()))
}

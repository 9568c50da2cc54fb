//! Dropout words by counter: ranges, masks from tickets, and what other streams do.

use std::ops::Range;

use crate::autograd::gradients::Gradients;
use crate::autograd::recompute::Plan;
use crate::autograd::tape::{Options, Tape};
use crate::decoder::dropout::Dropout;
use crate::decoder::microbatch::Microbatch;
use crate::decoder::model::Blocks;
use crate::decoder::nine_targets;
use crate::decoder::pass;
use crate::numeric::float::Precision;
use crate::numeric::random::{SplitMix64, unit};
use crate::selfcheck::Answers;
use crate::selfcheck::update::decoder;

/// Probability 1/2, seed 39, nothing drawn yet.
pub(super) fn example() -> Dropout {
    Dropout::new(0.5, 39).expect("bug: the example's probability is invalid")
}

pub(super) fn ask(answers: &mut Answers) {
    let (decoder, parameters) = decoder();
    let (mut dropout, mut gradients) = (example(), Gradients::zeros(&parameters));
    let (full, mut arena) = (nine_targets::full_batch(), Default::default());
    let mut tape = Tape::new(&parameters, &mut arena, Options::default());
    let blocks = Blocks { recompute: Plan::EACH, dropout: Some(&mut dropout) };
    let loss = decoder.loss_sum_with(&mut tape, &full, Precision::Float64, blocks);
    let (after_forward, tickets) = (dropout.counter(), tape.tickets());
    let swept = tape.backward_checked(loss, 1.0, &mut gradients);
    let ranges: Vec<Range<u64>> = tickets.iter().map(|ticket| ticket.range.clone()).collect();
    let expected: Vec<Range<u64>> = vec![0..48, 48..96, 96..144, 144..192, 192..240, 240..288];
    answers.equal("ranges of the six sites of [3, 4, 4]", expected, ranges);
    answers.equal("live counter after the forward", 288, after_forward);
    answers.equal("live counter after the backward pass", 288, swept.map_or(0, |_| dropout.counter()));
    let mut live = SplitMix64::new(39);
    let drawn: Vec<f64> = (0..288).map(|_| if unit(live.word()) < 0.5 { 0.0 } else { 2.0 }).collect();
    let masks: Vec<f64> = tickets.iter().flat_map(|ticket| ticket.mask()).collect();
    let apart = masks.iter().zip(&drawn).filter(|(a, b)| a != b).count() + masks.len().abs_diff(drawn.len());
    answers.equal("elements in which the tickets' masks differ from a live stream's", 0, apart);

    let gradient = |microbatches: &[Microbatch]| {
        let (mut dropout, mut gradients) = (example(), Gradients::zeros(&parameters));
        for microbatch in microbatches {
            let blocks = Blocks { recompute: Plan::Record, dropout: Some(&mut dropout) };
            let options = pass::Options { blocks, ..pass::Options::default() };
            let arena = &mut Default::default();
            let _ = pass::backward_with(&decoder, &parameters, microbatch, 1.0 / 9.0, options, &mut gradients, arena);
        }
        gradients
    };
    let difference = gradient(&[full]).first_difference(&gradient(&nine_targets::microbatches(2)), 1e-10);
    let first = difference.map_or_else(
        || "none".to_owned(),
        |difference| format!("element {} of {}", difference.element, difference.parameter),
    );
    let question = "the first derivative that differs when live dropout meets another partition of the same targets";
    answers.same(question, "element 0 of embed", first);
}

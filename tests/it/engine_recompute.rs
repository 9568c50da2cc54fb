//! Recompute: the same bits for less storage, the count of what is run again, and refusals before anything is written.

use std::num::NonZeroUsize;

use receipt::autograd::recompute::{Mismatch, Mistake, Plan, Reruns};
use receipt::autograd::retained::Retained;
use receipt::autograd::{Arena, Gradients, NotCommitted, Options, Parameters, Shape, Tape, Tensor};
use receipt::decoder::outcome::{Failed, Outcome};
use receipt::decoder::pass::{self, Arithmetic, Passed};
use receipt::decoder::update::{MeanLoss, Recipe};
use receipt::decoder::{Blocks, Config, Decoder, Dropout, Microbatch, Trainer, nine_targets};
use receipt::numeric::float::Precision;
use receipt::numeric::random::{SplitMix64, unit};
use receipt::optimizer::{AdamW, LossScale, Optimizer, Schedule, adamw};

use crate::engine_fixtures::{bits, default_decoder};

/// Everything that one pass with dropout 0.5, seed 39, leaves.
pub(crate) struct Ran {
    pub(crate) passed: Passed,
    gradients: Gradients,
    counter: u64,
}

pub(crate) fn run(decoder: &Decoder, microbatch: &Microbatch, recompute: Plan, arithmetic: Arithmetic) -> Ran {
    let parameters = decoder.initial_parameters(receipt::decoder::initial::GOLDEN_SEED);
    let mut dropout = Dropout::new(0.5, 39).unwrap();
    let mut gradients = Gradients::zeros(&parameters);
    let blocks = Blocks { recompute, dropout: Some(&mut dropout) };
    let options = pass::Options { arithmetic, blocks, ..pass::Options::default() };
    let arena = &mut Arena::default();
    let passed = pass::backward_with(decoder, &parameters, microbatch, 1.0 / 9.0, options, &mut gradients, arena);
    assert_eq!(arena.recipes(), 0, "the recipes are released with the tape");
    Ran { passed: passed.unwrap(), gradients, counter: dropout.counter() }
}

pub(crate) fn every(length: usize) -> Plan {
    Plan::Every(NonZeroUsize::new(length).unwrap())
}

pub(crate) fn snapshots(count: usize) -> Plan {
    Plan::Snapshots(NonZeroUsize::new(count).unwrap())
}

/// Grid [3, 4], width 4: six sites of 48 words.
#[test]
fn six_sites_of_48_words_whose_tickets_give_the_masks_of_a_live_stream() {
    let (decoder, parameters) = default_decoder();
    let full = nine_targets::full_batch();
    let mut of_plan = vec![];
    for recompute in [Plan::Record, Plan::EACH, snapshots(2)] {
        let (mut arena, mut dropout) = (Arena::default(), Dropout::new(0.5, 39).unwrap());
        let mut gradients = Gradients::zeros(&parameters);
        let mut tape = Tape::new(&parameters, &mut arena, Options::default());
        let blocks = Blocks { recompute, dropout: Some(&mut dropout) };
        let loss = decoder.loss_sum_with(&mut tape, &full, Precision::Float64, blocks);
        assert_eq!(dropout.counter(), 288, "after the forward");
        let tickets = tape.tickets();
        tape.backward_checked(loss, 1.0, &mut gradients).unwrap();
        assert_eq!(dropout.counter(), 288, "after the backward pass");
        let ranges: Vec<_> = tickets.iter().map(|ticket| (ticket.site, ticket.range.clone())).collect();
        let expected: Vec<_> = (0..6).map(|site| (site, 48 * site..48 * (site + 1))).collect();
        assert_eq!(ranges, expected);
        assert!(tickets.iter().all(|ticket| ticket.seed == 39 && ticket.probability() == 0.5));
        of_plan.push(tickets);
    }
    assert_eq!(of_plan[0], of_plan[1]);
    assert_eq!(of_plan[0], of_plan[2]);

    let mut live = SplitMix64::new(39);
    let drawn: Vec<f64> = (0..288).map(|_| if unit(live.word()) < 0.5 { 0.0 } else { 2.0 }).collect();
    let masks: Vec<f64> = of_plan[0].iter().flat_map(|ticket| ticket.mask()).collect();
    assert_eq!(masks, drawn);
    assert!(drawn.chunks(48).all(|mask| mask.contains(&0.0) && mask.contains(&2.0)));
}

#[test]
fn dropout_is_in_force() {
    let (decoder, parameters) = default_decoder();
    let full = nine_targets::full_batch();
    let mut gradients = Gradients::zeros(&parameters);
    let plain = pass::backward(
        &decoder,
        &parameters,
        &full,
        1.0 / 9.0,
        Arithmetic::default(),
        &mut gradients,
        &mut Arena::default(),
    );
    let dropped = run(&decoder, &full, Plan::Record, Arithmetic::default());
    assert_ne!(plain.unwrap(), dropped.passed.loss_sum);
    assert_ne!(gradients, dropped.gradients);
}

/// What each figure counts: see `Retained`. The bounds are what another engine needs for the same layout.
#[test]
fn retained_storage_of_three_blocks() {
    let (decoder, _) = default_decoder();
    let full = nine_targets::full_batch();
    let ordinary = run(&decoder, &full, Plan::Record, Arithmetic::default()).passed;
    let recomputed = run(&decoder, &full, Plan::EACH, Arithmetic::default()).passed;
    assert_eq!(recomputed.reruns, Reruns { advances: 0, taped: 3 });
    assert_eq!(ordinary.reruns, Reruns::default());
    assert_eq!((recomputed.retained.recipes, Retained::BYTES * recomputed.retained.recipes), (102, 816));
    assert_eq!((ordinary.retained.recipes, ordinary.retained.recompute_nodes), (0, 0));
    assert_eq!(recomputed.retained.recompute_nodes, 3);
    assert!(ordinary.retained.bytes() < 212_352, "{ordinary:?}");
    assert!(recomputed.retained.bytes() < 112_752, "{recomputed:?}");

    let narrow = run(&decoder, &full, Plan::EACH, Arithmetic::in_precision(Precision::Float32)).passed.retained;
    assert_eq!((narrow.rounded_parameters, ordinary.retained.rounded_parameters), (1572, 0), "rounded copies");

    // By hand, per block of 12 positions, width 4, inner width 8: norm, q, k, v, two rotated, attended, out, dropped,
    // sum are 10 tensors of 48; norm, down, dropped, sum are 4 more; gate, up and inner are 3 of 96. Saved: one number a
    // position by each norm, three squares of 4 by attention, one number an element by the gate.
    let block = 14 * 48 + 3 * 96;
    let block_saved = 2 * 12 + 3 * 16 + 96;
    // Embedding, last norm and loss; of the head, derivative and hidden row of 9 targets.
    let (rest, rest_saved) = (48 + 48 + 1, 12 + 9 * (266 + 4));
    let primals = 3 * block + rest;
    let saved = 3 * block_saved + rest_saved;
    let nodes = 29 + 1 + 3 * 17 + 2;
    let expected = Retained { primals, saved, nodes, ..Retained::default() };
    assert_eq!(ordinary.retained, expected);
    let primals = 3 * 48 + rest;
    let nodes = 29 + 1 + 3 + 2;
    let expected =
        Retained { primals, saved: rest_saved, recipes: 102, nodes, recompute_nodes: 3, ..Retained::default() };
    assert_eq!(recomputed.retained, expected);
}

/// Every plan, every precision, grids and packed rows, one thread and two: loss, gradients and live counter to the bit.
#[test]
fn every_plan_gives_the_bits_of_none() {
    let blocks = 5;
    let config = Config { blocks, ..Config::default() };
    let decoder = Decoder::new(config).unwrap();
    let packed = Microbatch::of_packed(&[vec!["hi", "loss"], vec!["sum"]]);
    for microbatch in [nine_targets::full_batch(), packed] {
        for precision in Precision::ALL {
            let arithmetic = Arithmetic::in_precision(precision);
            let none = run(&decoder, &microbatch, Plan::Record, arithmetic);
            assert!(!none.gradients.is_clear());
            for plan in (1..=blocks + 1).flat_map(|k| [every(k), snapshots(k)]) {
                for threads in [1, 2] {
                    let ran = run(&decoder, &microbatch, plan, arithmetic.on_threads(threads));
                    let what = format!("{plan:?}, {precision:?}, {threads} threads");
                    assert_eq!(ran.passed.loss_sum.to_bits(), none.passed.loss_sum.to_bits(), "{what}");
                    assert_eq!(bits(ran.gradients.values()), bits(none.gradients.values()), "{what}");
                    assert_eq!(ran.counter, none.counter, "{what}");
                    assert_eq!(ran.passed.reruns.total(), plan.extra_steps(blocks), "{what}");
                }
            }
        }
    }
}

/// A decoder wide enough that two threads are really used.
#[test]
fn threads_change_no_bit_of_a_recompute() {
    let config = Config { width: 64, heads: 2, blocks: 2, feed_forward: 96, context: 64, ..Config::default() };
    let decoder = Decoder::new(config).unwrap();
    let mut stream = SplitMix64::new(9);
    let texts: Vec<Vec<u8>> = (0..4).map(|_| (0..64).map(|_| stream.word() as u8).collect()).collect();
    let microbatch = Microbatch::of_texts(&texts);
    let none = run(&decoder, &microbatch, Plan::Record, Arithmetic::default());
    for threads in [1, 2] {
        let ran = run(&decoder, &microbatch, Plan::EACH, Arithmetic::default().on_threads(threads));
        assert_eq!(bits(ran.gradients.values()), bits(none.gradients.values()), "{threads} threads");
    }
}

fn trainer(parameters: Parameters) -> Trainer {
    let adamw = AdamW::new(adamw::Settings::default(), parameters.values().len());
    let recipe = Recipe {
        optimizer: Optimizer::AdamW(adamw),
        loss_scale: LossScale::fixed(128.0).unwrap(),
        schedule: Schedule::Constant { peak: 0.01 },
        max_norm: Some(1.0),
        arithmetic: Arithmetic::default(),
    };
    Trainer::new(parameters, recipe)
}

#[test]
fn weights_after_three_updates_have_the_same_bits() {
    let (decoder, parameters) = default_decoder();
    let microbatches = nine_targets::microbatches(2);
    let weights = |recompute| {
        let mut trainer = trainer(parameters.clone());
        let mut dropout = Dropout::new(0.5, 39).unwrap();
        for _ in 0..3 {
            let outcome = trainer.update_recomputing(&decoder, &microbatches, recompute, Some(&mut dropout));
            assert!(matches!(outcome, Ok(Outcome::Applied(_))));
        }
        // Grids [2, 4] and [1, 3]: 11 positions, six sites, width 4.
        assert_eq!(dropout.counter(), 3 * 11 * 4 * 6);
        bits(trainer.parameters().values())
    };
    let none = weights(Plan::Record);
    for plan in [Plan::EACH, every(2), snapshots(1), snapshots(3)] {
        assert_eq!(weights(plan), none, "{plan:?}");
    }
}

/// Logits, whose cotangents too have the same bits.
#[test]
fn logits_have_the_same_bits() {
    let (decoder, parameters) = default_decoder();
    let full = nine_targets::full_batch();
    let logits = |recompute| {
        let (mut arena, mut dropout) = (Arena::default(), Dropout::new(0.5, 39).unwrap());
        let mut tape = Tape::new(&parameters, &mut arena, Options::default());
        let hidden = decoder.hidden_with(&mut tape, &full, Blocks { recompute, dropout: Some(&mut dropout) });
        let logits = decoder.logits(&mut tape, hidden);
        let embed = tape.parameter(parameters.id("embed").unwrap());
        let ct: Vec<f64> = (0..tape.value(logits).len()).map(|i| (i % 7) as f64 - 3.0).collect();
        let value = bits(tape.value(logits));
        (value, bits(tape.pullback(logits, &ct).of(embed).unwrap()))
    };
    let none = logits(Plan::Record);
    for plan in [Plan::EACH, every(2), snapshots(2)] {
        assert_eq!(logits(plan), none, "{plan:?}");
    }
}

/// A value that is used inside a segment, beside it and after it, and a parameter that is used in two steps and outside:
/// contributions arrive in the order in which they do without recompute. JVP and VJP agree through segments.
#[test]
fn fan_out_across_a_segment_keeps_its_order() {
    let parameters = Parameters::new([("w".to_owned(), Tensor::new(Shape::vector(3), vec![0.3, -0.7, 1.1]))]);
    let sweep = |plan| {
        let mut arena = Arena::default();
        let mut tape = Tape::new(&parameters, &mut arena, Options::default());
        let x = tape.input(Shape::vector(3), &[0.1, 0.2, 0.3]);
        let beside = tape.silu(x);
        let y = tape.chain(x, 4, plan, |tape, index, x| {
            let w = tape.parameter(tape.parameters().id("w").unwrap());
            let product = tape.multiply(x, w);
            let gated = tape.swiglu(product, beside);
            let gated = tape.scale(gated, 1.0 + index as f64);
            tape.add(gated, x)
        });
        let w = tape.parameter(parameters.id("w").unwrap());
        let z = tape.multiply(y, w);
        let z = tape.multiply(z, x);
        let ct = [1.0, -0.3, 0.7];
        let cotangents = tape.pullback(z, &ct);
        let mut all: Vec<u64> = [x, beside, y, w].iter().flat_map(|&var| bits(cotangents.of(var).unwrap())).collect();
        let (into_x, into_w) = (cotangents.of(x).unwrap().to_vec(), cotangents.of(w).unwrap().to_vec());
        let (dx, dw) = ([0.5, 0.25, -2.0], [-1.0, 3.0, 0.125]);
        let tangent = tape.pushforward(z, &[(x, &dx), (w, &dw)]);
        all.extend(bits(tangent));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (forward, reverse) = (dot(&ct, tangent), dot(&into_x, &dx) + dot(&into_w, &dw));
        assert!((forward - reverse).abs() <= 1e-13 * forward.abs(), "{forward} {reverse}");
        all
    };
    let none = sweep(Plan::Record);
    for plan in (1..=5).flat_map(|k| [every(k), snapshots(k)]) {
        assert_eq!(sweep(plan), none, "{plan:?}");
    }
}

/// What a pass with a mistake made between forward and backward comes to, and what it left of gradients full of 0.25.
fn mistaken(mistake: impl for<'a> Fn(&'a Parameters) -> Vec<Mistake<'a>>) -> (Result<Reruns, NotCommitted>, Gradients) {
    let (decoder, parameters) = default_decoder();
    let mut other = parameters.clone();
    let id = other.id("blocks.1.wo").unwrap();
    let element = other.tensors()[other.ids().position(|i| i == id).unwrap()].span.start;
    other.values_mut()[element] += 1e-12;
    let mut gradients = Gradients::zeros(&parameters);
    gradients.values_mut().fill(0.25);
    let (mut arena, mut dropout) = (Arena::default(), Dropout::new(0.5, 39).unwrap());
    let mut tape = Tape::new(&parameters, &mut arena, Options::default());
    let blocks = Blocks { recompute: Plan::EACH, dropout: Some(&mut dropout) };
    let loss = decoder.loss_sum_with(&mut tape, &nine_targets::full_batch(), Precision::Float64, blocks);
    mistake(&other).into_iter().for_each(|mistake| tape.make(mistake));
    let outcome = tape.backward_checked(loss, 1.0, &mut gradients);
    assert_eq!(arena.recipes(), 0, "released after a refusal too");
    (outcome, gradients)
}

#[test]
fn another_mask_precision_or_parameter_is_refused_before_a_gradient_is_written() {
    let refused = |mistake: for<'a> fn(&'a Parameters) -> Vec<Mistake<'a>>| {
        let (outcome, gradients) = mistaken(mistake);
        assert!(gradients.values().iter().all(|x| x.to_bits() == 0.25_f64.to_bits()), "the gradients keep their bits");
        match outcome {
            Err(NotCommitted::Recompute(mismatch)) => mismatch,
            other => panic!("{other:?}"),
        }
    };
    let mask = refused(|_| vec![Mistake::Seed(40)]);
    assert!(matches!(mask, Mismatch::Output { .. }), "{mask}");
    let precision = refused(|_| vec![Mistake::Precision(Precision::Float32)]);
    assert_eq!(precision, Mismatch::Precision { forward: Precision::Float64, now: Precision::Float32 });
    let parameter = refused(|other| vec![Mistake::Parameters(other)]);
    assert_eq!(parameter, Mismatch::Parameter { parameter: "blocks.1.wo".to_owned() });
    assert_eq!(parameter.to_string(), "parameter blocks.1.wo is not what it was in the forward");

    let (outcome, gradients) = mistaken(|_| vec![]);
    assert_eq!(outcome, Ok(Reruns { advances: 0, taped: 3 }), "without a mistake it is accepted");
    assert!(gradients.values().iter().any(|x| *x != 0.25));
}

/// The counterexample: a recompute that draws anew and does not look gives the loss of one mask the gradient of another.
#[test]
fn an_unmatched_stream_that_nobody_checks_changes_the_gradient() {
    let (_, right) = mistaken(|_| vec![]);
    let (outcome, wrong) = mistaken(|_| vec![Mistake::Seed(40), Mistake::Unchecked]);
    assert!(outcome.is_ok());
    let difference = right.first_difference(&wrong, 1e-12).expect("another gradient");
    assert_eq!((difference.parameter.as_str(), difference.element), ("embed", first_used_element()));
    assert_eq!(mistaken(|_| vec![Mistake::Unchecked]).1, right, "not looking alone changes nothing");
}

/// The loss's own softmax reaches every row of the table, so that the first element is the table's first.
fn first_used_element() -> usize {
    // The logits' part of the tied table's gradient is formed outside the blocks and is right; the first wrong element is
    // the first row that the embedding looks up: byte 'h' = 104, of the text "hi", unless BEGIN comes before it.
    let lowest = nine_targets::full_batch().ids().iter().copied().min().unwrap();
    lowest as usize * 4
}

/// The counterexample of repartitioning: the same targets with live dropout in other microbatches get other masks.
#[test]
fn a_repartitioned_live_stream_is_another_gradient() {
    let (decoder, parameters) = default_decoder();
    let gradient = |row_limit, probability| {
        let mut dropout = Dropout::new(probability, 39).unwrap();
        let mut gradients = Gradients::zeros(&parameters);
        for microbatch in nine_targets::microbatches(row_limit) {
            let blocks = Blocks { recompute: Plan::Record, dropout: Some(&mut dropout) };
            let options = pass::Options { blocks, ..pass::Options::default() };
            let arena = &mut Arena::default();
            pass::backward_with(&decoder, &parameters, &microbatch, 1.0 / 9.0, options, &mut gradients, arena).unwrap();
        }
        gradients
    };
    let difference = gradient(3, 0.5).first_difference(&gradient(2, 0.5), 1e-10).expect("other masks");
    assert_eq!((difference.parameter.as_str(), difference.element), ("embed", 0));
    assert_eq!(gradient(3, 0.0).first_difference(&gradient(2, 0.0), 1e-10), None, "without dropout it is the same");
}

#[test]
fn a_mismatch_fails_the_whole_update() {
    let (decoder, parameters) = default_decoder();
    let mut trainer = trainer(parameters);
    let before = bits(trainer.parameters().values());
    let microbatches = nine_targets::microbatches(2);
    let declared: Vec<_> = microbatches.iter().map(Into::into).collect();
    let mut dropout = Dropout::new(0.5, 39).unwrap();
    let outcome = trainer.update_with(&declared, |tape, index| {
        let microbatch = &microbatches[index];
        let blocks = Blocks { recompute: Plan::EACH, dropout: Some(&mut dropout) };
        let sum = decoder.loss_sum_with(tape, microbatch, Precision::Float64, blocks);
        let valid_targets = microbatch.valid_targets();
        if index == 1 {
            tape.make(Mistake::Seed(1));
        }
        Ok::<_, std::convert::Infallible>(MeanLoss { mean: tape.divide(sum, valid_targets as f64), valid_targets })
    });
    assert!(matches!(outcome, Err(Failed::Recompute { microbatch: 1, .. })), "{outcome:?}");
    assert_eq!(bits(trainer.parameters().values()), before);
    assert!(trainer.gradients().is_clear());
}

/// A skipped update does not set the live counter back; a retry that does has the masks of the first try.
#[test]
fn a_retry_with_the_same_masks_sets_the_counter_back() {
    let (decoder, parameters) = default_decoder();
    let microbatches = nine_targets::microbatches(2);
    let mut dropout = Dropout::new(0.5, 39).unwrap();
    let mut trainer = trainer(parameters.clone());
    let declared: Vec<_> = microbatches.iter().map(Into::into).collect();
    let outcome = trainer.update_with(&declared, |tape, index| {
        let blocks = Blocks { recompute: Plan::EACH, dropout: Some(&mut dropout) };
        let sum = decoder.loss_sum_with(tape, &microbatches[index], Precision::Float64, blocks);
        let factor = if index == 1 { f64::INFINITY } else { 1.0 };
        let mean = tape.scale(sum, factor);
        Ok::<_, std::convert::Infallible>(MeanLoss { mean, valid_targets: microbatches[index].valid_targets() })
    });
    assert!(matches!(outcome, Ok(Outcome::Skipped(_))));
    assert_eq!(dropout.counter(), 11 * 4 * 6, "what the forwards drew is drawn");
    dropout.set_counter(0);
    let mut fresh = self::trainer(parameters);
    for trainer in [&mut trainer, &mut fresh] {
        dropout.set_counter(0);
        let _ = trainer.update_recomputing(&decoder, &microbatches, Plan::EACH, Some(&mut dropout)).unwrap();
    }
    assert_eq!(bits(trainer.parameters().values()), bits(fresh.parameters().values()));
}

//! Recompute schedules on the tape itself: the runs that are counted are those that were planned.

use receipt::autograd::recompute::binomial;
use receipt::autograd::recompute::{Plan, Reruns};
use receipt::autograd::{Arena, Gradients, Options, Parameters, Shape, Tape, Tensor};
use receipt::decoder::pass::Arithmetic;
use receipt::decoder::{Config, Decoder, nine_targets};

use crate::engine_fixtures::bits;
use crate::engine_recompute::{every, run, snapshots};

/// A chain of scalar steps x + w·silu(x) on the tape: its runs beyond the forward's and the derivatives' bits.
fn scalar_chain(steps: usize, plan: Plan) -> (Reruns, Vec<u64>) {
    let parameters = Parameters::new([("w".to_owned(), Tensor::new(Shape::SCALAR, vec![0.125]))]);
    let (mut arena, mut gradients) = (Arena::default(), Gradients::zeros(&parameters));
    let mut tape = Tape::new(&parameters, &mut arena, Options::default());
    let x = tape.input(Shape::SCALAR, &[0.5]);
    let y = tape.chain(x, steps, plan, |tape, _, x| {
        let w = tape.parameter(tape.parameters().id("w").unwrap());
        let gated = tape.silu(x);
        let turned = tape.multiply(gated, w);
        tape.add(x, turned)
    });
    let value = tape.scalar(y).to_bits();
    let reruns = tape.backward_checked(y, 1.0, &mut gradients).unwrap();
    (reruns, [vec![value], bits(gradients.values())].concat())
}

#[test]
fn a_chain_on_the_tape_takes_the_runs_of_the_formula() {
    let check = |steps: usize, count: usize, recorded: &[u64]| {
        let (reruns, bits) = scalar_chain(steps, snapshots(count));
        assert_eq!(steps as u64 + reruns.total(), binomial::runs(steps as u64, count as u64), "T({steps}, {count})");
        assert_eq!(reruns.taped, steps as u64 - 1, "the forward recorded the last step");
        assert_eq!(bits, recorded, "{steps} steps, {count} snapshots");
    };
    for steps in 1..=24 {
        let (_, recorded) = scalar_chain(steps, Plan::Record);
        (1..=steps).for_each(|count| check(steps, count, &recorded));
        for block in 1..=steps {
            let (reruns, bits) = scalar_chain(steps, every(block));
            assert_eq!(
                (reruns, &bits),
                (Reruns { advances: 0, taped: steps as u64 }, &recorded),
                "{steps} in {block}s"
            );
        }
    }
    for (steps, count, total) in [(10, 3, 25), (24, 4, 75), (64, 8, 201), (100, 5, 416)] {
        let (reruns, _) = scalar_chain(steps, snapshots(count));
        assert_eq!(steps as u64 + reruns.total(), total, "T({steps}, {count})");
    }
}

/// The measured block runs are the planned ones; uniform plans run each block once more whatever their length.
#[test]
fn blocks_of_the_decoder_take_the_runs_of_the_formula() {
    for blocks in [1, 2, 3, 6, 10] {
        let decoder = Decoder::new(Config { blocks, ..Config::default() }).unwrap();
        let full = nine_targets::full_batch();
        for k in 1..=blocks + 1 {
            let uniform = run(&decoder, &full, every(k), Arithmetic::default()).passed;
            assert_eq!(uniform.reruns, Reruns { advances: 0, taped: blocks as u64 }, "{blocks} blocks, every {k}");
            assert_eq!(uniform.retained.recompute_nodes, blocks.div_ceil(k));
            let binomial = run(&decoder, &full, snapshots(k), Arithmetic::default()).passed;
            let total = binomial::runs(blocks as u64, k as u64);
            assert_eq!(blocks as u64 + binomial.reruns.total(), total, "T({blocks}, {k})");
            assert_eq!(binomial.reruns.total(), snapshots(k).extra_steps(blocks));
            assert_eq!(binomial.reruns.taped, blocks as u64 - 1, "the forward recorded the last block");
            assert!(binomial.retained.recompute_nodes <= k);
        }
    }
}

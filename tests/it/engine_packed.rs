//! Packed rows: several documents in a row are what they are apart.

use receipt::autograd::rows::Rows;
use receipt::decoder::pass::Arithmetic;
use receipt::decoder::{Microbatch, nine_targets};
use receipt::numeric::float::Precision;

use crate::engine_fixtures::{accumulate, bits, default_decoder};

const TEXTS: [&str; 3] = nine_targets::TEXTS;

/// All ways to cut the three documents, in order, into rows.
fn packings() -> Vec<Vec<Vec<&'static str>>> {
    let [a, b, c] = TEXTS;
    vec![vec![vec![a, b, c]], vec![vec![a, b], vec![c]], vec![vec![a], vec![b, c]], vec![vec![a], vec![b], vec![c]]]
}

/// The loss and every gradient have the bits of one document to a row, in every precision: what stands between and after
/// documents has no target, and adds exact zeros.
#[test]
fn packed_is_unpacked_to_the_bit() {
    let (decoder, parameters) = default_decoder();
    for precision in Precision::ALL {
        let arithmetic = Arithmetic::in_precision(precision);
        let run = |microbatch: Microbatch| {
            assert_eq!(decoder.check(&microbatch), Ok(()));
            assert_eq!(microbatch.valid_targets(), 9, "counted after mask and shift");
            let (loss, gradients) = accumulate(&decoder, &parameters, &[microbatch], 1.0 / 9.0, arithmetic);
            (loss.to_bits(), bits(gradients.values()))
        };
        let unpacked = run(nine_targets::full_batch());
        for rows in packings() {
            let packed = Microbatch::of_packed(&rows);
            let slots: usize =
                rows.iter().map(|row| row.iter().map(|text| text.len() + 1).sum::<usize>() - 1).max().unwrap();
            assert_eq!(packed.ids().len(), rows.len() * slots, "every row is padded to the longest");
            assert_eq!(run(packed), unpacked, "{rows:?} in {precision:?}");
        }
    }
}

/// The mistakes that packing invites: attention across documents, and a target across the boundary.
#[test]
fn documents_that_are_not_kept_apart_are_another_objective() {
    let (decoder, parameters) = default_decoder();
    let packed = Microbatch::of_packed(&[vec!["hi", "loss"]]);
    let positions = packed.ids().len();
    let gradient = |microbatch: Microbatch| {
        let targets = microbatch.valid_targets();
        (targets, accumulate(&decoder, &parameters, &[microbatch], 1.0, Arithmetic::default()).1)
    };
    let (targets, right) = gradient(packed.clone());
    assert_eq!(targets, 6);
    let one_row = || Rows::grid(1, positions);
    let (ids, apart) = (packed.ids().to_vec(), packed.targets().to_vec());
    let (targets, attending) = gradient(Microbatch::new(ids.clone(), apart, one_row()).unwrap());
    assert_eq!(targets, 6);
    assert!(right.first_difference(&attending, 1e-10).is_some(), "attention across documents");
    let shifted: Vec<_> = ids[1..].iter().copied().map(Some).chain([Some(u32::from(b's'))]).collect();
    let (targets, counted) = gradient(Microbatch::new(ids, shifted, packed.rows().clone()).unwrap());
    assert_eq!(targets, 7, "the next document's first token is no target");
    assert!(right.first_difference(&counted, 1e-10).is_some());
}

//! Several documents in a row: the gradient of the same documents apart.

use crate::autograd::gradients::Gradients;
use crate::decoder::microbatch::Microbatch;
use crate::decoder::nine_targets;
use crate::decoder::pass::{self, Arithmetic};
use crate::selfcheck::Answers;
use crate::selfcheck::fan_out::differing;
use crate::selfcheck::update::decoder;

pub(super) fn ask(answers: &mut Answers) {
    let (decoder, parameters) = decoder();
    let gradient = |microbatch: &Microbatch| {
        let (mut gradients, mut arena) = (Gradients::zeros(&parameters), Default::default());
        let arithmetic = Arithmetic::default();
        let _ = pass::backward(&decoder, &parameters, microbatch, 1.0 / 9.0, arithmetic, &mut gradients, &mut arena);
        gradients.values().to_vec()
    };
    let [a, b, c] = nine_targets::TEXTS;
    let packed = Microbatch::of_packed(&[vec![a, b, c]]);
    answers.equal(
        "valid targets of three documents in one row of 11",
        (9, 11),
        (packed.valid_targets(), packed.ids().len()),
    );
    let apart = differing(&gradient(&packed), &gradient(&nine_targets::full_batch()));
    answers.equal("gradients in which it differs from one document to a row", 0, apart);
}

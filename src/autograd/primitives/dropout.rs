//! Dropout: y = m ∘ x, where m is 0 with probability p and 1/(1 − p) otherwise, decided by counted random words.
//!
//! Source: Srivastava et al., *Dropout*, JMLR 15 (2014), in the inverted form of PyTorch's `nn.Dropout`. The map is linear
//! and its own transpose: dx = m ∘ ct. Nothing is saved: the ticket gives the same mask again.

use crate::autograd::primitive::{Call, Extent, Pinned, Primitive, Setting, sample};
use crate::autograd::tape::{Tape, Var};
use crate::autograd::ticket::Ticket;

pub(super) static PRIMITIVE: Primitive = Primitive {
    name: "dropout",
    inputs: 1,
    extent: |call| {
        let (shape, ticket) = (call.inputs[0].shape, call.setting.ticket());
        assert_eq!(shape.len() as u64, ticket.words(), "bug: {} words for {shape}", ticket.words());
        Extent { output: shape, saved: 0 }
    },
    value: |call, out, _| multiply(call, call.inputs[0].values, out),
    vjp: |call, _, ct, [into, ..]| multiply(call, ct, into),
    jvp: |call, _, tangents, out| multiply(call, tangents[0], out),
    samples: || vec![sample([(2, 3, &[1.0, -2.0, 0.5, 3.0, 0.25, -1.0])], setting(39, 7..13, 0.25))],
    // The first words of the stream after 0, known from Vigna's C, are 0.88, 0.43, 0.03, 0.97 and 0.11 of 2^64.
    pinned: || {
        let x: &[f64] = &[1.0, 2.0, 3.0, 4.0, f64::MAX];
        vec![
            Pinned {
                at: sample([(1, 5, x)], setting(0, 0..5, 0.5)),
                output: vec![2.0, 0.0, 0.0, 8.0, 0.0],
                ct: vec![-1.0, 1.0, 5.0, 0.25, 3.0],
                input_cts: vec![vec![-2.0, 0.0, 0.0, 0.5, 0.0]],
                tolerance: 0.0,
            },
            Pinned {
                at: sample([(1, 2, &x[..2])], setting(0, 3..5, 0.75)),
                output: vec![4.0, 0.0],
                ct: vec![1.0, 1.0],
                input_cts: vec![vec![4.0, 0.0]],
                tolerance: 0.0,
            },
        ]
    },
};

fn setting(seed: u64, range: std::ops::Range<u64>, probability: f64) -> Setting {
    Setting::Dropout(Ticket { seed, site: 0, range, probability_bits: probability.to_bits() })
}

/// An infinite element that is dropped becomes NaN, as in PyTorch: an overflow does not vanish by chance.
fn multiply(call: &Call<'_>, x: &[f64], out: &mut [f64]) {
    for ((out, x), factor) in out.iter_mut().zip(x).zip(call.setting.ticket().mask()) {
        *out = x * factor;
    }
}

impl Tape<'_> {
    /// `x` with the elements of the ticket's mask dropped.
    ///
    /// # Panics
    /// Where the ticket has not one word for each element, which is a bug of the caller.
    pub fn dropout(&mut self, x: Var, ticket: Ticket) -> Var {
        self.apply(&PRIMITIVE, [x], Setting::Dropout(ticket))
    }
}

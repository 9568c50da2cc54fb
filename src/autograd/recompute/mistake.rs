//! Recomputing wrongly on purpose, to show that it is refused, and what it would do if it were not.

use crate::autograd::parameters::Parameters;
use crate::autograd::tape::Tape;
use crate::numeric::float::Precision;

/// What goes wrong between forward and reverse sweep.
#[derive(Clone, Copy, Debug)]
pub enum Mistake<'a> {
    /// The parameters are others, with the same layout. With a tape that borrows them this cannot happen by itself.
    Parameters(&'a Parameters),
    /// The arithmetic is another: an autocast context that is not entered again.
    Precision(Precision),
    /// Dropout draws from another stream: the state of the generator was not restored.
    Seed(u64),
    /// This bit of this element of every output that was made again is flipped: faulty memory.
    Bit {
        /// Row after row from 0.
        element: usize,
        /// Below 64, from the lowest.
        bit: u32,
    },
    /// Nothing is checked: neither parameters and precision nor the bits of the output.
    Unchecked,
}

impl<'a> Tape<'a> {
    /// Makes a mistake in everything that will be run again.
    ///
    /// # Panics
    /// Where the parameters have another layout, which is a bug of the caller.
    pub fn make(&mut self, mistake: Mistake<'a>) {
        match mistake {
            Mistake::Parameters(parameters) => {
                assert_eq!(self.parameters.tensors(), parameters.tensors(), "bug: parameters of another layout");
                self.parameters = parameters;
            }
            Mistake::Precision(precision) => self.options.precision = precision,
            Mistake::Seed(seed) => self.arena.segments.iter_mut().for_each(|segment| segment.reseed(seed)),
            Mistake::Bit { element, bit } => self.arena.flipped = Some((element, bit)),
            Mistake::Unchecked => self.arena.is_unchecked = true,
        }
    }
}

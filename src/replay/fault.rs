//! A recompute that goes wrong on purpose, to see that it is refused. No replay of a run has one: only who builds a
//! machine by hand can ask for it, and from a machine there is no way to a receipt.
use super::rows::Batch;
use crate::autograd::parameters::Parameters;
use crate::autograd::recompute::Mistake;
use crate::numeric::float::Precision;

/// What goes wrong, and where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// The batch that it befalls, first among those that go through together.
    pub window: u64,
    /// Its rank.
    pub rank: u64,
    /// Its index among the rank's microbatches of the window.
    pub index: u64,
    /// What goes wrong.
    pub kind: FaultKind,
}

/// What goes wrong between forward and reverse sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultKind {
    /// Dropout draws from the stream of this seed.
    Mask(u64),
    /// The arithmetic is another.
    Precision(Precision),
    /// This element of all parameters changes in its last place.
    Parameter(usize),
    /// This bit of this element of each output that was made again is flipped.
    Bit {
        /// Row after row from 0.
        element: usize,
        /// Below 64, from the lowest.
        bit: u32,
    },
}

impl Fault {
    /// Whether it befalls batches of which this is the first.
    pub(super) fn befalls(&self, first: Option<&Batch>) -> bool {
        first.is_some_and(|batch| [batch.window, batch.rank, batch.index] == [self.window, self.rank, self.index])
    }
}

impl FaultKind {
    /// The parameters of the second run where they are others.
    pub(super) fn parameters(self, parameters: &Parameters) -> Option<Parameters> {
        let FaultKind::Parameter(element) = self else { return None };
        let mut changed = parameters.clone();
        let value = &mut changed.values_mut()[element];
        *value = f64::from_bits(value.to_bits() ^ 1);
        Some(changed)
    }

    /// The mistake on the tape; `changed` are the parameters of the second run where they are others.
    pub(super) fn mistake(self, changed: Option<&Parameters>) -> Mistake<'_> {
        match self {
            FaultKind::Mask(seed) => Mistake::Seed(seed),
            FaultKind::Precision(precision) => Mistake::Precision(precision),
            FaultKind::Parameter(_) => Mistake::Parameters(changed.expect("bug: no parameters of the second run")),
            FaultKind::Bit { element, bit } => Mistake::Bit { element, bit },
        }
    }
}

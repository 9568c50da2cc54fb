//! What a tape retains for its reverse sweep: a count of payload, not a measurement of memory.

use crate::autograd::recompute::Segment;
use crate::autograd::tape::{Source, Tape};

/// Numbers (of 8 bytes each) and nodes that a tape holds, counted when the loss has been computed.
///
/// Not counted: parameters themselves, gradients, optimizer state, shapes and names, rows, ids, targets and dropout
/// tickets, what the allocator holds beyond the payload, and what the reverse sweep uses on its way. So it is neither the
/// peak nor the total of a process's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// Values of inputs, operations and segments; each node has its own.
    pub primals: usize,
    /// What operations saved for their derivatives, copies of parameters among it.
    pub saved: usize,
    /// Parameters rounded to a narrower precision; none in binary64, where they are borrowed.
    pub rounded_parameters: usize,
    /// Constants and rotary tables that recipes hold, each recipe counted by itself.
    pub recipes: usize,
    /// Nodes of every kind.
    pub nodes: usize,
    /// Nodes that stand for a segment to be run again.
    pub recompute_nodes: usize,
}

impl Retained {
    /// Bytes of one number.
    pub const BYTES: usize = size_of::<f64>();

    /// Numbers in all.
    #[must_use]
    pub fn values(&self) -> usize {
        self.primals + self.saved + self.rounded_parameters + self.recipes
    }

    /// Payload in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        Self::BYTES * self.values()
    }
}

impl Tape<'_> {
    /// What the tape retains now.
    #[must_use]
    pub fn retained(&self) -> Retained {
        let mut retained = Retained { nodes: self.arena.nodes.len(), ..Retained::default() };
        for (index, node) in self.arena.nodes.iter().enumerate() {
            let values = self.arena.values.get(index).len();
            match node.source {
                Source::Parameter(_) => retained.rounded_parameters += values,
                Source::Input => retained.primals += values,
                Source::Applied(_) => {
                    retained.primals += values;
                    retained.saved += self.arena.saved.get(index).len();
                }
                Source::Recomputed(_) => {
                    retained.primals += values;
                    retained.recompute_nodes += 1;
                }
            }
        }
        retained.recipes = self.arena.segments.iter().map(Segment::fixed_values).sum();
        retained
    }
}

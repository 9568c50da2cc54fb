//! The buffers of a tape, kept from one tape to the next so that a warm tape allocates nothing.

use crate::autograd::recompute::{Reruns, Segment};
use crate::autograd::tape::{Node, Var};

/// Everything a [`crate::autograd::Tape`] writes. Hand the same arena to one tape after another.
#[derive(Debug, Default)]
pub struct Arena {
    pub(super) nodes: Vec<Node>,
    /// Which node stands for each parameter.
    pub(super) parameter_vars: Vec<Option<Var>>,
    /// What is kept of each segment that will be run again.
    pub(super) segments: Vec<Segment>,
    /// How often steps were run again.
    pub(super) reruns: Reruns,
    /// Element and bit of a segment's second output that is flipped: a mistake on purpose.
    pub(super) flipped: Option<(usize, u32)>,
    /// Whether a segment's second run is believed without looking: a mistake on purpose.
    pub(super) is_unchecked: bool,
    /// Output of each node; empty for parameters, which are borrowed.
    pub(super) values: Slots,
    /// What each node saved for its derivatives.
    pub(super) saved: Slots,
    /// Cotangent of each node.
    pub(super) cotangents: Slots,
    /// Which nodes a cotangent has reached.
    pub(super) reached: Vec<bool>,
    /// A contribution that is to be added to a cotangent already there, one for each input.
    pub(super) contributions: Slots,
    /// Tangent of each node.
    pub(super) tangents: Slots,
    /// The gradients as they will be if the pass succeeds.
    pub(super) staged: Vec<f64>,
}

/// Numbered buffers that keep their capacity.
#[derive(Debug, Default)]
pub(super) struct Slots {
    buffers: Vec<Vec<f64>>,
}

impl Slots {
    /// Takes buffer `index` out, with `len` elements of arbitrary value.
    pub(super) fn take(&mut self, index: usize, len: usize) -> Vec<f64> {
        let mut buffer = self.take_any(index);
        buffer.resize(len, 0.0);
        buffer
    }

    /// Takes buffer `index` out as it is.
    pub(super) fn take_any(&mut self, index: usize) -> Vec<f64> {
        if self.buffers.len() <= index {
            self.buffers.resize_with(index + 1, Vec::new);
        }
        std::mem::take(&mut self.buffers[index])
    }

    /// Copies buffer `from` into buffer `to`.
    pub(super) fn copy(&mut self, from: usize, to: usize) {
        if from != to {
            let source = self.take_any(from);
            let mut copy = self.take(to, source.len());
            copy.copy_from_slice(&source);
            self.put(from, source);
            self.put(to, copy);
        }
    }

    /// Puts a buffer back.
    pub(super) fn put(&mut self, index: usize, buffer: Vec<f64>) {
        self.buffers[index] = buffer;
    }

    pub(super) fn get(&self, index: usize) -> &[f64] {
        self.buffers.get(index).map_or(&[], Vec::as_slice)
    }

    pub(super) fn get_mut(&mut self, index: usize) -> &mut [f64] {
        &mut self.buffers[index]
    }
}

impl Arena {
    /// Steps of which a recipe is held: 0 once a backward pass has released its tape.
    #[must_use]
    pub fn recipes(&self) -> usize {
        self.segments.iter().map(Segment::len).sum()
    }

    /// Forgets the nodes of the last tape, but keeps the buffers.
    pub(super) fn reset(&mut self, parameters: usize) {
        self.release();
        self.reruns = Reruns::default();
        self.flipped = None;
        self.is_unchecked = false;
        self.reached.clear();
        self.parameter_vars.clear();
        self.parameter_vars.resize(parameters, None);
    }

    /// Forgets nodes and recipes with what they refer to.
    pub(super) fn release(&mut self) {
        self.nodes.clear();
        self.segments.clear();
    }
}

//! Running a segment again, at the end of the tape, when a sweep reaches its node.

use crate::autograd::recompute::mismatch::Mismatch;
use crate::autograd::recompute::plan::Part;
use crate::autograd::recompute::segment::Segment;
use crate::autograd::tape::{Node, Tape, Var};

/// How often steps were run again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reruns {
    /// Runs that left no tape.
    pub advances: u64,
    /// Runs on the tape.
    pub taped: u64,
}

impl Reruns {
    /// All of them: extra forwards of a step.
    #[must_use]
    pub fn total(self) -> u64 {
        self.advances + self.taped
    }
}

/// How long the tape was before a segment was run again.
pub(in crate::autograd) struct Mark {
    nodes: usize,
    segments: usize,
}

impl Tape<'_> {
    /// How often steps were run again on this tape so far.
    #[must_use]
    pub fn reruns(&self) -> Reruns {
        self.arena.reruns
    }

    /// Runs the segment of node `var` again at the end of the tape, and returns its output there, which has the bits of
    /// the first.
    pub(in crate::autograd) fn run_again(&mut self, var: Var, segment: usize) -> Result<(Mark, Var), Mismatch> {
        let mark = Mark { nodes: self.arena.nodes.len(), segments: self.arena.segments.len() };
        let boundary = self.arena.nodes[var.0].inputs[0];
        let segment = self.arena.segments[segment].clone();
        if !self.arena.is_unchecked {
            self.check(&segment)?;
        }
        let mut x = boundary;
        for Part { steps, rerun } in segment.rerun.parts(segment.len()) {
            match rerun {
                Some(rerun) => x = self.advance(segment.part(steps, rerun), x),
                None => {
                    for recipe in &segment.steps[steps] {
                        x = self.play(recipe, x);
                        self.arena.reruns.taped += 1;
                    }
                }
            }
        }
        if let Some((element, bit)) = self.arena.flipped {
            let value = &mut self.arena.values.get_mut(x.0)[element];
            *value = f64::from_bits(value.to_bits() ^ (1 << bit));
        }
        if !self.arena.is_unchecked {
            self.compare(var, x)?;
        }
        self.arena.reached.resize(self.arena.nodes.len(), false);
        Ok((mark, x))
    }

    /// Takes everything that running again put on the tape off it.
    pub(in crate::autograd) fn take_back(&mut self, mark: &Mark) {
        self.arena.nodes.truncate(mark.nodes);
        self.arena.reached.truncate(mark.nodes);
        self.arena.segments.truncate(mark.segments);
    }

    /// Where running again began.
    pub(in crate::autograd) fn first_after(mark: &Mark) -> usize {
        mark.nodes
    }

    /// Runs the steps of a segment without leaving a tape; only the output stays, as a segment of its own.
    fn advance(&mut self, segment: Segment, boundary: Var) -> Var {
        let base = self.arena.nodes.len();
        let mut x = boundary;
        for recipe in &segment.steps {
            let y = self.play(recipe, x);
            self.arena.reruns.advances += 1;
            let Node { shape, precision, .. } = self.arena.nodes[y.0];
            let value = self.value(y).to_vec();
            self.arena.nodes.truncate(base);
            x = self.keep(shape, precision, &value);
        }
        self.close_segment(segment, boundary, x)
    }

    fn compare(&self, var: Var, again: Var) -> Result<(), Mismatch> {
        let bits = |var| self.value(var).iter().map(|x| x.to_bits());
        match bits(var).zip(bits(again)).enumerate().find(|(_, (forward, again))| forward != again) {
            Some((element, (forward, again))) => Err(Mismatch::Output { node: var.index(), element, forward, again }),
            None => Ok(()),
        }
    }
}

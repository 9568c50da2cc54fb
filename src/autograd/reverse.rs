//! The reverse sweep: cotangents from an output back to everything it depends on.
//!
//! Where a value is used more than once its cotangent contributions add, in the order in which the sweep meets the
//! uses. The overwriting sweep is the mistake on purpose: the last contribution into a computed node wins.

use std::ops::Range;

use crate::autograd::arena::Arena;
use crate::autograd::primitive::{Done, MAX_INPUTS, Primitive};
use crate::autograd::recompute::Mismatch;
use crate::autograd::tape::{Source, Tape, Var};

/// What happens to a contribution into a node that has a cotangent already.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FanOut {
    /// It is added.
    Add,
    /// It takes the other's place, unless the node is a leaf.
    Overwrite,
}

/// The cotangents of one sweep, still on the tape.
#[derive(Debug)]
pub struct Cotangents<'t> {
    arena: &'t Arena,
}

impl Cotangents<'_> {
    /// The cotangent of a node, row after row; `None` where the output does not depend on it.
    #[must_use]
    pub fn of(&self, var: Var) -> Option<&[f64]> {
        self.arena.reached[var.0].then(|| self.arena.cotangents.get(var.0))
    }
}

impl Tape<'_> {
    /// The vector-Jacobian product: cotangents of all that `output` depends on. The tape may be swept again.
    ///
    /// # Panics
    /// Where `ct` has not the output's length, which is a bug of the caller, and where something that was run again
    /// came out differently.
    pub fn pullback(&mut self, output: Var, ct: &[f64]) -> Cotangents<'_> {
        let swept = self.sweep(output, FanOut::Add, |buffer| buffer.copy_from_slice(ct));
        swept.unwrap_or_else(|mismatch| panic!("bug: {mismatch}"));
        Cotangents { arena: self.arena }
    }

    /// [`Self::pullback`] without the additions: nodes are visited in the given order, and a contribution into a
    /// computed node overwrites what was there. A counterexample, wrong wherever a computed value is used twice. Inside
    /// what is run again it adds.
    ///
    /// # Panics
    /// As [`Self::pullback`].
    pub fn pullback_overwriting(&mut self, output: Var, ct: &[f64], order: &[Var]) -> Cotangents<'_> {
        self.seed(output, |buffer| buffer.copy_from_slice(ct));
        for &var in order {
            self.visit(var, FanOut::Overwrite).unwrap_or_else(|mismatch| panic!("bug: {mismatch}"));
        }
        Cotangents { arena: self.arena }
    }

    /// Sweeps back from `output`, whose cotangent `seed` writes.
    pub(super) fn sweep(
        &mut self,
        output: Var,
        fan_out: FanOut,
        seed: impl FnOnce(&mut [f64]),
    ) -> Result<(), Mismatch> {
        self.seed(output, seed);
        let nodes: Range<usize> = 0..output.0 + 1;
        for index in nodes.rev() {
            self.visit(Var(index), fan_out)?;
        }
        Ok(())
    }

    fn seed(&mut self, output: Var, write: impl FnOnce(&mut [f64])) {
        let node = &self.arena.nodes[output.0];
        self.arena.reached.clear();
        self.arena.reached.resize(self.arena.nodes.len(), false);
        let mut buffer = self.arena.cotangents.take(output.0, node.shape.len());
        write(&mut buffer);
        node.precision.round_all(&mut buffer);
        self.arena.cotangents.put(output.0, buffer);
        self.arena.reached[output.0] = true;
    }

    /// Carries the cotangent of one node to its inputs.
    fn visit(&mut self, var: Var, fan_out: FanOut) -> Result<(), Mismatch> {
        if !self.arena.reached[var.0] {
            return Ok(());
        }
        match self.arena.nodes[var.0].source {
            Source::Input | Source::Parameter(_) => {}
            Source::Applied(primitive) => self.differentiate(primitive, var, fan_out),
            Source::Recomputed(segment) => self.differentiate_again(segment, var)?,
        }
        Ok(())
    }

    /// Runs a segment again and sweeps back through it. What it depends on is on the outer tape, where contributions
    /// arrive in the order in which they would without recompute.
    fn differentiate_again(&mut self, segment: usize, var: Var) -> Result<(), Mismatch> {
        let (mark, output) = self.run_again(var, segment)?;
        self.arena.cotangents.copy(var.0, output.0);
        self.arena.reached[output.0] = true;
        for index in (Self::first_after(&mark)..self.arena.nodes.len()).rev() {
            self.visit(Var(index), FanOut::Add)?;
            // What is after it has been swept: a segment further left is run again in its place.
            self.arena.nodes.truncate(index);
            self.arena.reached.truncate(index);
        }
        self.take_back(&mark);
        Ok(())
    }

    fn differentiate(&mut self, primitive: &Primitive, var: Var, fan_out: FanOut) {
        let inputs = self.arena.nodes[var.0].inputs;
        let inputs = &inputs[..primitive.inputs];
        let mut buffers: [Vec<f64>; MAX_INPUTS] = Default::default();
        // The first contribution is written where the cotangent belongs; a later one beside it, to be added.
        let mut first = [false; MAX_INPUTS];
        for (k, input) in inputs.iter().enumerate() {
            let len = self.arena.nodes[input.0].shape.len();
            first[k] = !self.arena.reached[input.0];
            self.arena.reached[input.0] = true;
            let (slots, index) = match first[k] {
                true => (&mut self.arena.cotangents, input.0),
                false => (&mut self.arena.contributions, k),
            };
            buffers[k] = slots.take(index, len);
        }
        self.contribute(primitive, var, &mut buffers);
        for (k, (input, mut buffer)) in inputs.iter().zip(buffers).enumerate() {
            self.arena.nodes[input.0].precision.round_all(&mut buffer);
            if first[k] {
                self.arena.cotangents.put(input.0, buffer);
            } else {
                self.merge(*input, &buffer, fan_out);
                self.arena.contributions.put(k, buffer);
            }
        }
    }

    fn contribute(&self, primitive: &Primitive, var: Var, buffers: &mut [Vec<f64>; MAX_INPUTS]) {
        let done = Done { value: self.arena.values.get(var.0), saved: self.arena.saved.get(var.0) };
        let into = buffers.each_mut().map(Vec::as_mut_slice);
        (primitive.vjp)(&self.call(&self.arena.nodes[var.0]), done, self.arena.cotangents.get(var.0), into);
    }

    fn merge(&mut self, into: Var, contribution: &[f64], fan_out: FanOut) {
        let node = &self.arena.nodes[into.0];
        let cotangent = self.arena.cotangents.get_mut(into.0);
        if fan_out == FanOut::Overwrite && matches!(node.source, Source::Applied(_) | Source::Recomputed(_)) {
            cotangent.copy_from_slice(contribution);
            return;
        }
        cotangent.iter_mut().zip(contribution).for_each(|(sum, x)| *sum += x);
        node.precision.round_all(cotangent);
    }
}

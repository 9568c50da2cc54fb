//! The forward sweep: tangents from the leaves to everything that depends on them.

use crate::autograd::primitive::{Done, MAX_INPUTS};
use crate::autograd::tape::{Source, Tape, Var};

impl Tape<'_> {
    /// The Jacobian-vector product: the tangent of `output` when the given leaves move with the given tangents and
    /// all others stand still.
    ///
    /// # Panics
    /// Where a tangent has not its leaf's length or belongs to no leaf, which is a bug of the caller, and where
    /// something that was run again came out differently.
    pub fn pushforward(&mut self, output: Var, leaves: &[(Var, &[f64])]) -> &[f64] {
        for index in 0..=output.0 {
            self.push_node(Var(index));
            for (_, given) in leaves.iter().filter(|(var, _)| var.0 == index) {
                let is_leaf = matches!(self.arena.nodes[index].source, Source::Input | Source::Parameter(_));
                assert!(is_leaf, "bug: node {index} is no leaf");
                self.arena.tangents.get_mut(index).copy_from_slice(given);
            }
        }
        self.arena.tangents.get(output.0)
    }

    fn push_node(&mut self, var: Var) {
        let node = &self.arena.nodes[var.0];
        let (source, precision) = (node.source, node.precision);
        if let Source::Recomputed(segment) = source {
            return self.push_again(segment, var);
        }
        let mut tangent = self.arena.tangents.take(var.0, node.shape.len());
        match source {
            Source::Applied(_) => self.carry(var, &mut tangent),
            _ => tangent.fill(0.0),
        }
        precision.round_all(&mut tangent);
        self.arena.tangents.put(var.0, tangent);
    }

    fn push_again(&mut self, segment: usize, var: Var) {
        let (mark, output) = self.run_again(var, segment).unwrap_or_else(|mismatch| panic!("bug: {mismatch}"));
        for index in Self::first_after(&mark)..self.arena.nodes.len() {
            self.push_node(Var(index));
        }
        self.arena.tangents.copy(output.0, var.0);
        self.take_back(&mark);
    }

    fn carry(&self, var: Var, tangent: &mut [f64]) {
        let node = &self.arena.nodes[var.0];
        let Source::Applied(primitive) = node.source else { return };
        let done = Done { value: self.arena.values.get(var.0), saved: self.arena.saved.get(var.0) };
        let mut tangents: [&[f64]; MAX_INPUTS] = [&[]; MAX_INPUTS];
        for (place, input) in tangents.iter_mut().zip(node.inputs).take(primitive.inputs) {
            *place = self.arena.tangents.get(input.0);
        }
        (primitive.jvp)(&self.call(node), done, &tangents, tangent);
    }
}

//! A segment: consecutive steps that left a recipe each instead of a tape.

use std::ops::Range;
use std::sync::Arc;

use crate::autograd::parameters::ParameterId;
use crate::autograd::primitive::Setting;
use crate::autograd::recompute::mismatch::Mismatch;
use crate::autograd::recompute::plan::{Part, Plan, Rerun};
use crate::autograd::recompute::recipe::Recipe;
use crate::autograd::tape::{Source, Tape, Var};
use crate::autograd::ticket::Ticket;
use crate::numeric::float::Precision;
use crate::numeric::random::mix;

/// What is kept of a segment besides its output and its input, which are nodes of the tape.
#[derive(Clone, Debug)]
pub(in crate::autograd) struct Segment {
    pub(super) steps: Vec<Arc<Recipe>>,
    pub(super) rerun: Rerun,
    /// The tape's precision in the forward.
    precision: Precision,
    /// The parameters that it refers to, each with a fingerprint of its elements in the forward.
    parameters: Vec<(ParameterId, u64)>,
}

impl Segment {
    /// Numbers that its recipes hold, each recipe counted by itself.
    pub(in crate::autograd) fn fixed_values(&self) -> usize {
        self.steps.iter().map(|recipe| recipe.fixed_values()).sum()
    }

    /// Number of steps.
    pub(in crate::autograd) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Some of the steps, to be run again for themselves. What the whole was checked for is not checked again.
    pub(super) fn part(&self, steps: Range<usize>, rerun: Rerun) -> Self {
        Self { steps: self.steps[steps].to_vec(), rerun, precision: self.precision, parameters: vec![] }
    }

    /// The dropout tickets of its steps, in order.
    pub(super) fn tickets(&self) -> impl Iterator<Item = &Ticket> {
        self.steps.iter().flat_map(|recipe| recipe.tickets())
    }

    pub(super) fn reseed(&mut self, seed: u64) {
        self.steps.iter_mut().for_each(|recipe| Arc::make_mut(recipe).reseed(seed));
    }
}

impl Tape<'_> {
    /// Runs a chain of steps from `x` as a plan has it: `step` gets the tape, the step's number and its input, and
    /// returns its output. Of a step that will be run again it may use only the step's input, parameters, and nodes that
    /// were on the tape before the chain; it is called once, and what it did is kept as a recipe.
    ///
    /// # Panics
    /// Where a step that will be run again makes inputs or chains of its own, or nothing, which is a bug of the caller.
    pub fn chain(
        &mut self,
        mut x: Var,
        steps: usize,
        plan: Plan,
        mut step: impl FnMut(&mut Self, usize, Var) -> Var,
    ) -> Var {
        for Part { steps, rerun } in plan.parts(steps) {
            x = match rerun {
                None => steps.fold(x, |x, index| step(self, index, x)),
                Some(rerun) => self.run_segment(x, steps, rerun, &mut step),
            };
        }
        x
    }

    fn run_segment(
        &mut self,
        boundary: Var,
        steps: Range<usize>,
        rerun: Rerun,
        step: &mut impl FnMut(&mut Self, usize, Var) -> Var,
    ) -> Var {
        let mut x = boundary;
        let mut recipes = Vec::with_capacity(steps.len());
        for index in steps {
            // The output of the step before is taken off with this step's nodes.
            let base = if x == boundary { self.arena.nodes.len() } else { x.0 };
            let y = step(self, index, x);
            let (recipe, kept) = self.take_down(base, x, y);
            recipes.push(Arc::new(recipe));
            x = kept;
        }
        let parameters = self.parameters_of(&recipes);
        let segment = Segment { steps: recipes, rerun, precision: self.options.precision, parameters };
        self.close_segment(segment, boundary, x)
    }

    /// Makes the kept output of a segment its node.
    pub(super) fn close_segment(&mut self, segment: Segment, boundary: Var, kept: Var) -> Var {
        let node = &mut self.arena.nodes[kept.0];
        node.source = Source::Recomputed(self.arena.segments.len());
        node.inputs[0] = boundary;
        self.arena.segments.push(segment);
        kept
    }

    fn parameters_of(&self, recipes: &[Arc<Recipe>]) -> Vec<(ParameterId, u64)> {
        let mut parameters: Vec<(ParameterId, u64)> = vec![];
        for var in recipes.iter().flat_map(|recipe| recipe.outside()) {
            if let Source::Parameter(id) = self.arena.nodes[var.0].source
                && parameters.iter().all(|(other, _)| *other != id)
            {
                parameters.push((id, fingerprint(self.parameters.tensor(id).values)));
            }
        }
        parameters
    }

    /// Whether a segment may be run again: precision and parameters are what they were.
    pub(super) fn check(&self, segment: &Segment) -> Result<(), Mismatch> {
        if segment.precision != self.options.precision {
            return Err(Mismatch::Precision { forward: segment.precision, now: self.options.precision });
        }
        let changed = |(id, before): &&(ParameterId, u64)| fingerprint(self.parameters.tensor(*id).values) != *before;
        match segment.parameters.iter().find(changed) {
            Some((id, _)) => Err(Mismatch::Parameter { parameter: self.parameters.tensors()[id.0].name.clone() }),
            None => Ok(()),
        }
    }
}

impl Tape<'_> {
    /// Every dropout ticket on the tape and in its recipes, in the order of the forward.
    #[must_use]
    pub fn tickets(&self) -> Vec<Ticket> {
        let mut tickets = vec![];
        for node in &self.arena.nodes {
            match (&node.source, &node.setting) {
                (Source::Recomputed(segment), _) => tickets.extend(self.arena.segments[*segment].tickets().cloned()),
                (_, Setting::Dropout(ticket)) => tickets.push(ticket.clone()),
                _ => {}
            }
        }
        tickets
    }
}

/// A word that any change of a single number changes: each step is a bijection of the lane's word. It is no cryptographic
/// hash; it is there for mistakes.
fn fingerprint(values: &[f64]) -> u64 {
    const LANES: usize = 8;
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut lanes: [u64; LANES] = std::array::from_fn(|lane| lane as u64);
    for group in values.chunks(LANES) {
        for (lane, x) in lanes.iter_mut().zip(group) {
            *lane = (*lane ^ x.to_bits()).wrapping_mul(ODD).rotate_left(29);
        }
    }
    lanes.into_iter().fold(values.len() as u64, |word, lane| mix(word ^ lane))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_feels_every_bit() {
        let values: Vec<f64> = (0..19).map(f64::from).collect();
        let whole = fingerprint(&values);
        for element in 0..values.len() {
            for bit in 0..64 {
                let mut changed = values.clone();
                changed[element] = f64::from_bits(changed[element].to_bits() ^ (1 << bit));
                assert_ne!(fingerprint(&changed), whole, "bit {bit} of element {element}");
            }
        }
        assert_ne!(fingerprint(&values[..18]), whole);
    }
}

//! A recipe: the operations of one step without their values.

use std::sync::Arc;

use crate::autograd::primitive::{MAX_INPUTS, Primitive, Setting};
use crate::autograd::tape::{Node, Source, Tape, Var};
use crate::autograd::tensor::Shape;
use crate::autograd::ticket::Ticket;
use crate::numeric::float::Precision;

/// Where an operation's input comes from.
#[derive(Clone, Copy, Debug)]
enum Operand {
    /// The step's input.
    Boundary,
    /// A node of the outer tape: a parameter, as a rule.
    Outside(Var),
    /// An earlier operation of the step.
    Operation(usize),
}

/// An application to be made again.
#[derive(Clone, Debug)]
struct Operation {
    primitive: &'static Primitive,
    inputs: [Operand; MAX_INPUTS],
    setting: Setting,
    precision: Precision,
}

/// The operations of one step, in order.
#[derive(Clone, Debug)]
pub(super) struct Recipe {
    operations: Vec<Operation>,
    /// The operation whose value is the step's output.
    output: usize,
}

impl Recipe {
    /// The nodes outside the step that it uses.
    pub(super) fn outside(&self) -> impl Iterator<Item = Var> + '_ {
        self.operations.iter().flat_map(|operation| &operation.inputs[..operation.primitive.inputs]).filter_map(
            |operand| match operand {
                Operand::Outside(var) => Some(*var),
                Operand::Boundary | Operand::Operation(_) => None,
            },
        )
    }

    /// Numbers that it holds: each constant, and each rotary table once. Rows, ids, targets and tickets are no tensors.
    pub(super) fn fixed_values(&self) -> usize {
        let mut tables = vec![];
        let mut values = 0;
        for operation in &self.operations {
            match &operation.setting {
                Setting::Constant(_) => values += 1,
                Setting::Rotary(table, _) if !tables.iter().any(|other| Arc::ptr_eq(other, table)) => {
                    values += table.values();
                    tables.push(Arc::clone(table));
                }
                _ => {}
            }
        }
        values
    }

    /// The dropout tickets, in order.
    pub(super) fn tickets(&self) -> impl Iterator<Item = &Ticket> {
        self.operations.iter().filter_map(|operation| match &operation.setting {
            Setting::Dropout(ticket) => Some(ticket),
            _ => None,
        })
    }

    /// Every dropout ticket with another seed: a mistake on purpose.
    pub(super) fn reseed(&mut self, seed: u64) {
        for operation in &mut self.operations {
            if let Setting::Dropout(ticket) = &mut operation.setting {
                ticket.seed = seed;
            }
        }
    }
}

impl Tape<'_> {
    /// Takes the nodes of a step that has just been run from `boundary` to `output` off the tape, from node `base` on.
    /// Parameters that it asked for stay, and after them its value as an input.
    pub(super) fn take_down(&mut self, base: usize, boundary: Var, output: Var) -> (Recipe, Var) {
        let Node { shape, precision, .. } = self.arena.nodes[output.0];
        let value = self.value(output).to_vec();
        let nodes: Vec<Node> = self.arena.nodes.drain(base..).collect();
        // What each of the nodes has become.
        let mut operands: Vec<Operand> = Vec::with_capacity(nodes.len());
        let mut operations = vec![];
        for (index, node) in (base..).zip(nodes) {
            operands.push(match node.source {
                _ if Var(index) == boundary => Operand::Boundary,
                Source::Parameter(id) => {
                    let kept = Var(self.arena.nodes.len());
                    self.arena.values.copy(index, kept.0);
                    self.arena.nodes.push(node);
                    self.arena.parameter_vars[id.0] = Some(kept);
                    Operand::Outside(kept)
                }
                Source::Applied(primitive) => {
                    let inputs = node.inputs.map(|var| match var {
                        var if var == boundary => Operand::Boundary,
                        Var(index) if index < base => Operand::Outside(var),
                        Var(index) => operands[index - base],
                    });
                    let Node { setting, precision, .. } = node;
                    operations.push(Operation { primitive, inputs, setting, precision });
                    Operand::Operation(operations.len() - 1)
                }
                Source::Input | Source::Recomputed(_) => panic!("bug: a step that is run again makes only operations"),
            });
        }
        let Some(Operand::Operation(last)) = output.0.checked_sub(base).map(|offset| operands[offset]) else {
            panic!("bug: the output of a step that is run again is one of its operations")
        };
        (Recipe { operations, output: last }, self.keep(shape, precision, &value))
    }

    /// Makes every operation of a recipe again, at the end of the tape.
    pub(super) fn play(&mut self, recipe: &Recipe, boundary: Var) -> Var {
        let start = self.arena.nodes.len();
        for Operation { primitive, inputs, setting, precision } in &recipe.operations {
            let inputs = inputs.map(|operand| match operand {
                Operand::Boundary => boundary,
                Operand::Outside(var) => var,
                Operand::Operation(index) => Var(start + index),
            });
            self.record(*precision, primitive, inputs, setting.clone());
        }
        Var(start + recipe.output)
    }

    /// Puts a value whose nodes were taken off at the end of the tape.
    pub(super) fn keep(&mut self, shape: Shape, precision: Precision, value: &[f64]) -> Var {
        let kept = Var(self.arena.nodes.len());
        let mut buffer = self.arena.values.take(kept.0, value.len());
        buffer.copy_from_slice(value);
        self.arena.values.put(kept.0, buffer);
        let inputs = [Var(0); MAX_INPUTS];
        self.arena.nodes.push(Node { source: Source::Input, inputs, setting: Setting::None, shape, precision });
        kept
    }
}

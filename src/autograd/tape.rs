//! The tape: what was computed, in order, as data.

use std::fmt;

use crate::autograd::arena::Arena;
use crate::autograd::parameters::{ParameterId, Parameters};
use crate::autograd::primitive::{Call, MAX_INPUTS, Primitive, Setting};
use crate::autograd::tensor::{Shape, View};
use crate::numeric::float::Precision;

/// A place on a tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Var(pub(super) usize);

impl Var {
    /// The number of the node, counted from 0 in the order of computation.
    #[must_use]
    pub fn index(self) -> usize {
        self.0
    }
}

/// Where a node's value came from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// Given by the caller.
    Input,
    /// Borrowed from the parameters (a rounded copy where a narrower precision is emulated).
    Parameter(ParameterId),
    /// Computed.
    Applied(&'static Primitive),
    /// Computed by a segment that left no tape, of that number in the arena; its input is the first.
    Recomputed(usize),
}

/// One node. Its value and saved numbers stand in the arena under the same index.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) source: Source,
    pub(super) inputs: [Var; MAX_INPUTS],
    pub(super) setting: Setting,
    pub(super) shape: Shape,
    pub(super) precision: Precision,
}

/// How a tape computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What inputs, parameters and every primitive's output, cotangent and tangent are rounded to.
    pub precision: Precision,
    /// Threads that large primitives may use; at least 1. No bit of any result depends on it.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { precision: Precision::Float64, threads: 1 }
    }
}

/// What was computed from borrowed parameters and given inputs.
///
/// The method that applies a primitive stands in the primitive's file: `tape.linear(x, w)`.
#[derive(Debug)]
pub struct Tape<'a> {
    pub(super) parameters: &'a Parameters,
    pub(super) arena: &'a mut Arena,
    pub(super) options: Options,
}

impl<'a> Tape<'a> {
    /// An empty tape. The parameters are held until its last use.
    #[must_use]
    pub fn new(parameters: &'a Parameters, arena: &'a mut Arena, options: Options) -> Self {
        arena.reset(parameters.tensors().len());
        Self { parameters, arena, options }
    }

    /// How this tape computes.
    #[must_use]
    pub fn options(&self) -> Options {
        self.options
    }

    /// The parameters it holds.
    #[must_use]
    pub fn parameters(&self) -> &'a Parameters {
        self.parameters
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.arena.nodes.len()
    }

    /// Whether nothing was recorded yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arena.nodes.is_empty()
    }

    /// An input that is no parameter, rounded to the tape's precision.
    ///
    /// # Panics
    /// Where the number of elements is not that of the shape, which is a bug of the caller.
    pub fn input(&mut self, shape: Shape, values: &[f64]) -> Var {
        assert_eq!(shape.len(), values.len(), "bug: {} elements for shape {shape}", values.len());
        self.leaf(Source::Input, shape, values)
    }

    /// A parameter. Asked for twice, it is the same node: its uses are a fan-out like any other.
    pub fn parameter(&mut self, id: ParameterId) -> Var {
        if let Some(var) = self.arena.parameter_vars[id.0] {
            return var;
        }
        let View { shape, values } = self.parameters.tensor(id);
        let copied = if self.options.precision == Precision::Float64 { &[] } else { values };
        let var = self.leaf(Source::Parameter(id), shape, copied);
        self.arena.parameter_vars[id.0] = Some(var);
        var
    }

    fn leaf(&mut self, source: Source, shape: Shape, values: &[f64]) -> Var {
        let index = self.arena.nodes.len();
        let mut buffer = self.arena.values.take(index, values.len());
        buffer.copy_from_slice(values);
        let precision = self.options.precision;
        precision.round_all(&mut buffer);
        self.arena.values.put(index, buffer);
        let inputs = [Var(0); MAX_INPUTS];
        self.arena.nodes.push(Node { source, inputs, setting: Setting::None, shape, precision });
        Var(index)
    }

    /// Computes a primitive and records it. Its precision is the widest of its inputs', as in type promotion.
    pub(super) fn apply<const N: usize>(
        &mut self,
        primitive: &'static Primitive,
        inputs: [Var; N],
        setting: Setting,
    ) -> Var {
        let widest = inputs.iter().map(|var| self.arena.nodes[var.0].precision).min();
        self.apply_in(widest.unwrap_or(self.options.precision), primitive, inputs, setting)
    }

    /// Computes a primitive, rounds its output to `precision` and records it.
    pub(super) fn apply_in<const N: usize>(
        &mut self,
        precision: Precision,
        primitive: &'static Primitive,
        inputs: [Var; N],
        setting: Setting,
    ) -> Var {
        const { assert!(N <= MAX_INPUTS) };
        assert_eq!(N, primitive.inputs, "bug: {} takes {} inputs", primitive.name, primitive.inputs);
        let mut places = [Var(0); MAX_INPUTS];
        places[..N].copy_from_slice(&inputs);
        self.record(precision, primitive, places, setting)
    }

    /// The same with as many inputs as the primitive takes, the rest of the places being arbitrary.
    pub(super) fn record(
        &mut self,
        precision: Precision,
        primitive: &'static Primitive,
        inputs: [Var; MAX_INPUTS],
        setting: Setting,
    ) -> Var {
        let index = self.arena.nodes.len();
        let mut node = Node { source: Source::Applied(primitive), inputs, setting, shape: Shape::SCALAR, precision };
        let mut value = self.arena.values.take_any(index);
        let mut saved = self.arena.saved.take_any(index);
        let call = self.call(&node);
        let extent = (primitive.extent)(&call);
        value.resize(extent.output.len(), 0.0);
        saved.resize(extent.saved, 0.0);
        (primitive.value)(&call, &mut value, &mut saved);
        precision.round_all(&mut value);
        node.shape = extent.output;
        self.arena.values.put(index, value);
        self.arena.saved.put(index, saved);
        self.arena.nodes.push(node);
        Var(index)
    }

    /// The application that a node records.
    pub(super) fn call<'s>(&'s self, node: &'s Node) -> Call<'s> {
        let mut inputs = [View::EMPTY; MAX_INPUTS];
        if let Source::Applied(primitive) = node.source {
            for (view, var) in inputs.iter_mut().zip(node.inputs).take(primitive.inputs) {
                *view = self.view(var);
            }
        }
        Call { inputs, setting: &node.setting, threads: self.options.threads }
    }

    /// Shape and elements of a node's value.
    #[must_use]
    pub fn view(&self, var: Var) -> View<'_> {
        let node = &self.arena.nodes[var.0];
        match node.source {
            Source::Parameter(id) if node.precision == Precision::Float64 => self.parameters.tensor(id),
            _ => View { shape: node.shape, values: self.arena.values.get(var.0) },
        }
    }

    /// Elements of a node's value, row after row.
    #[must_use]
    pub fn value(&self, var: Var) -> &[f64] {
        self.view(var).values
    }

    /// The single element of a scalar node.
    ///
    /// # Panics
    /// Where the node is no scalar, which is a bug of the caller.
    #[must_use]
    pub fn scalar(&self, var: Var) -> f64 {
        let view = self.view(var);
        assert_eq!(view.shape, Shape::SCALAR, "bug: node {} is no scalar", var.0);
        view.values[0]
    }
}

/// One line for each node: number, what made it, from which nodes, shape.
impl fmt::Display for Tape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, node) in self.arena.nodes.iter().enumerate() {
            write!(f, "{index}: ")?;
            match node.source {
                Source::Input => write!(f, "input")?,
                Source::Parameter(id) => write!(f, "parameter {}", self.parameters.tensors()[id.0].name)?,
                Source::Applied(primitive) => {
                    write!(f, "{}", primitive.name)?;
                    for var in &node.inputs[..primitive.inputs] {
                        write!(f, " {}", var.0)?;
                    }
                }
                Source::Recomputed(segment) => {
                    write!(f, "recompute {} {}", self.arena.segments[segment].len(), node.inputs[0].0)?;
                }
            }
            writeln!(f, " {}", node.shape)?;
        }
        Ok(())
    }
}

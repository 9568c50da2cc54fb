//! What a primitive is: the record that each file under `primitives/` holds.

use std::sync::Arc;

use crate::autograd::rotary::RotaryTable;
use crate::autograd::rows::Rows;
use crate::autograd::tensor::{Shape, Tensor, View};
use crate::autograd::ticket::Ticket;

/// The most inputs a primitive may have.
pub const MAX_INPUTS: usize = 3;

/// A primitive: its value and both its derivatives, side by side, with the points that hold them to account.
///
/// Buffers that are written come with arbitrary contents and must be overwritten whole.
#[derive(Debug)]
pub struct Primitive {
    /// Name on the tape.
    pub name: &'static str,
    /// Number of inputs.
    pub inputs: usize,
    /// The shape of the output and the number of values saved for the derivatives. Panics ("bug:") on shapes that do not fit.
    pub extent: fn(&Call<'_>) -> Extent,
    /// Writes output and saved values.
    pub value: fn(&Call<'_>, &mut [f64], &mut [f64]),
    /// Vector-Jacobian product: from the output's cotangent (`ct`) to each input's contribution.
    pub vjp: fn(&Call<'_>, Done<'_>, &[f64], [&mut [f64]; MAX_INPUTS]),
    /// Jacobian-vector product: from the inputs' tangents to the output's.
    pub jvp: fn(&Call<'_>, Done<'_>, &[&[f64]], &mut [f64]),
    /// Where the derivative identities are tested; never empty.
    pub samples: fn() -> Vec<Sample>,
    /// Known values, kinks and ties included; never empty.
    pub pinned: fn() -> Vec<Pinned>,
}

/// One application: the inputs and what is no tensor.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The primals; as many as [`Primitive::inputs`], the rest empty.
    pub inputs: [View<'a>; MAX_INPUTS],
    /// What is no tensor.
    pub setting: &'a Setting,
    /// How many threads may be used. It changes no bit of the result.
    pub threads: usize,
}

/// What a finished application left: its output and its saved values.
#[derive(Clone, Copy, Debug)]
pub struct Done<'a> {
    /// The output.
    pub value: &'a [f64],
    /// What was saved for the derivatives.
    pub saved: &'a [f64],
}

/// How much an application writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Shape of the output.
    pub output: Shape,
    /// Number of saved values.
    pub saved: usize,
}

/// What an application needs that is no tensor and has no derivative.
#[derive(Clone, Debug)]
pub enum Setting {
    /// Nothing.
    None,
    /// A constant: factor, divisor or epsilon.
    Constant(f64),
    /// A row of the table for each position.
    Ids(Arc<[u32]>),
    /// A class for each position; `None` where the label is the ignore index.
    Targets(Arc<[Option<u32>]>),
    /// Rotary positions: table, rows of positions, heads side by side.
    Rotary(Arc<RotaryTable>, Arc<Rows>),
    /// Attention: rows of positions, number of heads side by side.
    Heads(Arc<Rows>, usize),
    /// Dropout: which random words decide.
    Dropout(Ticket),
}

impl Setting {
    /// The constant.
    ///
    /// # Panics
    /// This and the following: where the setting is of another kind, which is a bug of the tape's method.
    pub(super) fn constant(&self) -> f64 {
        let Self::Constant(constant) = self else { panic!("bug: {self:?} is no constant") };
        *constant
    }

    pub(super) fn ids(&self) -> &[u32] {
        let Self::Ids(ids) = self else { panic!("bug: {self:?} is no list of ids") };
        ids
    }

    pub(super) fn targets(&self) -> &[Option<u32>] {
        let Self::Targets(targets) = self else { panic!("bug: {self:?} is no list of targets") };
        targets
    }

    pub(super) fn rotary(&self) -> (&RotaryTable, &Rows) {
        let Self::Rotary(table, rows) = self else { panic!("bug: {self:?} is no rotary setting") };
        (table, rows)
    }

    pub(super) fn heads(&self) -> (&Rows, usize) {
        let Self::Heads(rows, heads) = self else { panic!("bug: {self:?} is no attention setting") };
        (rows, *heads)
    }

    pub(super) fn ticket(&self) -> &Ticket {
        let Self::Dropout(ticket) = self else { panic!("bug: {self:?} is no dropout ticket") };
        ticket
    }
}

impl Call<'_> {
    /// Extent of an output with the first input's shape, after checking that all inputs have it.
    pub(super) fn elementwise(&self, inputs: usize, saved_per_element: usize) -> Extent {
        let output = self.inputs[0].shape;
        for input in &self.inputs[1..inputs] {
            assert_eq!(input.shape, output, "bug: elementwise inputs of different shapes");
        }
        Extent { output, saved: saved_per_element * output.len() }
    }
}

/// A point at which the derivative identities are tested.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The primals.
    pub inputs: Vec<Tensor>,
    /// What is no tensor.
    pub setting: Setting,
}

/// Known values at one point.
#[derive(Clone, Debug)]
pub struct Pinned {
    /// The point.
    pub at: Sample,
    /// The output.
    pub output: Vec<f64>,
    /// The output's cotangent.
    pub ct: Vec<f64>,
    /// Each input's cotangent.
    pub input_cts: Vec<Vec<f64>>,
    /// Greatest absolute difference; 0 where the numbers are exact.
    pub tolerance: f64,
}

/// A sample from rows, columns and elements of each input.
pub(super) fn sample<const N: usize>(inputs: [(usize, usize, &[f64]); N], setting: Setting) -> Sample {
    let tensor =
        |(rows, columns, values): (usize, usize, &[f64])| Tensor::new(Shape::matrix(rows, columns), values.to_vec());
    Sample { inputs: inputs.into_iter().map(tensor).collect(), setting }
}

//! Whole Jacobians, by columns or by rows, with the number of sweeps they took.

use crate::autograd::tape::{Tape, Var};

/// A Jacobian and its price.
#[derive(Clone, Debug, PartialEq)]
pub struct Jacobian {
    /// Element (row i, column j), row after row: how output element i changes with input element j.
    pub values: Vec<f64>,
    /// JVP or VJP sweeps that were made.
    pub sweeps: usize,
}

impl Tape<'_> {
    /// The m × n Jacobian of `output` (m elements) in the leaf `input` (n elements), column by column: n JVP sweeps.
    pub fn jacobian_by_jvp(&mut self, output: Var, input: Var) -> Jacobian {
        let (m, n) = (self.view(output).shape.len(), self.view(input).shape.len());
        let mut jacobian = Jacobian { values: vec![0.0; m * n], sweeps: 0 };
        let mut unit = vec![0.0; n];
        for j in 0..n {
            unit[j] = 1.0;
            let column = self.pushforward(output, &[(input, &unit)]);
            for (i, x) in column.iter().enumerate() {
                jacobian.values[i * n + j] = *x;
            }
            jacobian.sweeps += 1;
            unit[j] = 0.0;
        }
        jacobian
    }

    /// The same, row by row: m VJP sweeps.
    pub fn jacobian_by_vjp(&mut self, output: Var, input: Var) -> Jacobian {
        let (m, n) = (self.view(output).shape.len(), self.view(input).shape.len());
        let mut jacobian = Jacobian { values: Vec::with_capacity(m * n), sweeps: 0 };
        let mut unit = vec![0.0; m];
        for i in 0..m {
            unit[i] = 1.0;
            match self.pullback(output, &unit).of(input) {
                Some(row) => jacobian.values.extend_from_slice(row),
                None => jacobian.values.resize((i + 1) * n, 0.0),
            }
            jacobian.sweeps += 1;
            unit[i] = 0.0;
        }
        jacobian
    }
}

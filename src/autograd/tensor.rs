//! Matrices of binary64 numbers, row-major: owned, and borrowed.

use std::fmt;

/// Rows and columns. A vector is one row, a scalar one row of one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of rows; for activations, of positions.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
}

impl Shape {
    /// One row of one column.
    pub const SCALAR: Self = Self { rows: 1, columns: 1 };

    /// `rows` × `columns`.
    #[must_use]
    pub const fn matrix(rows: usize, columns: usize) -> Self {
        Self { rows, columns }
    }

    /// One row of `columns`.
    #[must_use]
    pub const fn vector(columns: usize) -> Self {
        Self { rows: 1, columns }
    }

    /// Number of elements.
    #[must_use]
    pub const fn len(self) -> usize {
        self.rows * self.columns
    }

    /// Whether there is no element.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.rows, self.columns)
    }
}

/// An owned matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    shape: Shape,
    values: Vec<f64>,
}

impl Tensor {
    /// A matrix of the given elements, row after row.
    ///
    /// # Panics
    /// Where the number of elements is not that of the shape, which is a bug of the caller.
    #[must_use]
    pub fn new(shape: Shape, values: Vec<f64>) -> Self {
        assert_eq!(shape.len(), values.len(), "bug: {} elements for shape {shape}", values.len());
        Self { shape, values }
    }

    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The elements, row after row.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// A borrowed view.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View { shape: self.shape, values: &self.values }
    }
}

/// A borrowed matrix.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Rows and columns.
    pub shape: Shape,
    /// The elements, row after row.
    pub values: &'a [f64],
}

impl<'a> View<'a> {
    /// The empty matrix, which fills unused places of fixed arrays.
    pub(super) const EMPTY: View<'static> = View { shape: Shape::matrix(0, 0), values: &[] };

    /// Row `index`.
    #[must_use]
    pub fn row(&self, index: usize) -> &'a [f64] {
        &self.values[index * self.shape.columns..][..self.shape.columns]
    }
}

//! Named parameters, one after the other in one buffer.

use std::ops::Range;
use std::sync::Arc;

use crate::autograd::tensor::{Shape, Tensor, View};

/// A parameter's place in its [`Parameters`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ParameterId(pub(super) usize);

impl ParameterId {
    /// The parameter number `index`, counted from 0.
    #[must_use]
    pub const fn nth(index: usize) -> Self {
        Self(index)
    }
}

/// A parameter's name, shape and place in the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Unique name.
    pub name: String,
    /// Rows and columns.
    pub shape: Shape,
    /// Where its elements stand in the buffer.
    pub span: Range<usize>,
}

/// Names, shapes and places, shared by parameters and their gradients.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) tensors: Vec<Named>,
}

/// The parameters of a model: what a tape borrows and an optimizer changes. A tied table is one parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    pub(super) layout: Arc<Layout>,
    values: Vec<f64>,
}

impl Parameters {
    /// The given tensors in the given order.
    ///
    /// # Panics
    /// Where a name comes twice, which is a bug of the caller.
    #[must_use]
    pub fn new(tensors: impl IntoIterator<Item = (String, Tensor)>) -> Self {
        let mut layout = Layout::default();
        let mut values = Vec::new();
        for (name, tensor) in tensors {
            assert!(layout.tensors.iter().all(|other| other.name != name), "bug: two parameters named {name}");
            let start = values.len();
            values.extend_from_slice(tensor.values());
            layout.tensors.push(Named { name, shape: tensor.shape(), span: start..values.len() });
        }
        Self { layout: Arc::new(layout), values }
    }

    /// Name, shape and place of every parameter, in order.
    #[must_use]
    pub fn tensors(&self) -> &[Named] {
        &self.layout.tensors
    }

    /// The identifiers of all parameters, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = ParameterId> + use<> {
        (0..self.layout.tensors.len()).map(ParameterId)
    }

    /// The parameter of that name.
    #[must_use]
    pub fn id(&self, name: &str) -> Option<ParameterId> {
        self.layout.tensors.iter().position(|tensor| tensor.name == name).map(ParameterId)
    }

    /// One parameter.
    #[must_use]
    pub fn tensor(&self, id: ParameterId) -> View<'_> {
        let Named { shape, span, .. } = &self.layout.tensors[id.0];
        View { shape: *shape, values: &self.values[span.clone()] }
    }

    /// All elements of all parameters.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// All elements, to be changed. A tape borrows the parameters for as long as it lives, so that this is refused by
    /// the compiler while any tape could still be differentiated:
    ///
    /// ```compile_fail,E0502
    /// use receipt::autograd::{Arena, Options, Parameters, Shape, Tape, Tensor};
    /// let mut parameters = Parameters::new([("w".to_owned(), Tensor::new(Shape::SCALAR, vec![2.0]))]);
    /// let mut arena = Arena::default();
    /// let mut tape = Tape::new(&parameters, &mut arena, Options::default());
    /// let w = tape.parameter(parameters.id("w").unwrap());
    /// parameters.values_mut()[0] = 3.0; // error[E0502]: cannot borrow `parameters` as mutable
    /// let square = tape.multiply(w, w);
    /// ```
    ///
    /// The same lines compile once the tape is used no more:
    ///
    /// ```
    /// # use receipt::autograd::{Arena, Options, Parameters, Shape, Tape, Tensor};
    /// # let mut parameters = Parameters::new([("w".to_owned(), Tensor::new(Shape::SCALAR, vec![2.0]))]);
    /// # let mut arena = Arena::default();
    /// let mut tape = Tape::new(&parameters, &mut arena, Options::default());
    /// let w = tape.parameter(parameters.id("w").unwrap());
    /// let square = tape.multiply(w, w);
    /// assert_eq!(tape.value(square), [4.0]);
    /// parameters.values_mut()[0] = 3.0;
    /// ```
    #[must_use]
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_follow_each_other() {
        let tensor =
            |shape: Shape, first: f64| Tensor::new(shape, (0..shape.len()).map(|i| first + i as f64).collect());
        let parameters = Parameters::new([
            ("a".to_owned(), tensor(Shape::matrix(2, 3), 0.0)),
            ("b".to_owned(), tensor(Shape::vector(2), 6.0)),
        ]);
        assert_eq!(parameters.values(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        assert_eq!(parameters.tensor(parameters.id("b").unwrap()).values, [6.0, 7.0]);
        assert_eq!(parameters.tensors()[1].span, 6..8);
        assert_eq!(parameters.id("c"), None);
    }

    #[test]
    #[should_panic(expected = "bug: two parameters named a")]
    fn names_are_unique() {
        let one = || ("a".to_owned(), Tensor::new(Shape::SCALAR, vec![0.0]));
        let _ = Parameters::new([one(), one()]);
    }
}

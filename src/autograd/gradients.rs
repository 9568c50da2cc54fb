//! Gradient buffers with the parameters' layout, and what a training loop does to them.

use std::sync::Arc;

use crate::autograd::parameters::{Layout, ParameterId, Parameters};

/// One number for every parameter element: what backward passes add into.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradients {
    pub(super) layout: Arc<Layout>,
    pub(super) values: Vec<f64>,
}

/// The first element in which two gradients differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The parameter's name.
    pub parameter: String,
    /// The element of that parameter, row after row.
    pub element: usize,
    /// The one gradient's.
    pub left: f64,
    /// The other's.
    pub right: f64,
}

/// How the gradients of several ranks become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// Their sum divided by their number.
    Mean,
}

impl Gradients {
    /// Zeros for the given parameters.
    #[must_use]
    pub fn zeros(parameters: &Parameters) -> Self {
        Self { layout: Arc::clone(&parameters.layout), values: vec![0.0; parameters.values().len()] }
    }

    /// All elements, in the parameters' order.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// All elements, to be changed.
    #[must_use]
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// The elements of one parameter, row after row.
    #[must_use]
    pub fn tensor(&self, id: ParameterId) -> &[f64] {
        &self.values[self.layout.tensors[id.0].span.clone()]
    }

    /// Whether every element is zero: what a logical update must find.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.values.iter().fold(true, |clear, x| clear & (*x == 0.0))
    }

    /// Whether no element is infinite or NaN.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.values.iter().fold(true, |finite, x| finite & x.is_finite())
    }

    /// The first element, in the order of the parameters, in which two gradients differ by more than
    /// `tolerance` · (1 + |left|); 0 compares bits, but for the sign of zero.
    #[must_use]
    pub fn first_difference(&self, other: &Self, tolerance: f64) -> Option<Difference> {
        self.layout.tensors.iter().find_map(|tensor| {
            let (ours, theirs) = (&self.values[tensor.span.clone()], &other.values[tensor.span.clone()]);
            let differs =
                |(a, b): (&f64, &f64)| (a - b).abs() > tolerance * (1.0 + a.abs()) || a.is_nan() != b.is_nan();
            let element = ours.iter().zip(theirs).position(differs)?;
            let (left, right) = (ours[element], theirs[element]);
            Some(Difference { parameter: tensor.name.clone(), element, left, right })
        })
    }

    /// Sets every element to zero.
    pub fn clear(&mut self) {
        self.values.fill(0.0);
    }

    /// Multiplies every element.
    pub fn scale(&mut self, factor: f64) {
        self.values.iter_mut().for_each(|x| *x *= factor);
    }

    /// Divides every element: for a loss scale that is no power of two this is not multiplication by the reciprocal.
    pub fn divide(&mut self, divisor: f64) {
        self.values.iter_mut().for_each(|x| *x /= divisor);
    }

    /// Adds `factor` times `other`, element by element.
    ///
    /// # Panics
    /// Where the layouts differ, which is a bug of the caller.
    pub fn add_scaled(&mut self, factor: f64, other: &Self) {
        assert_eq!(self.layout, other.layout, "bug: gradients of different parameters");
        self.values.iter_mut().zip(&other.values).for_each(|(x, y)| *x += factor * y);
    }
}

/// Gives every rank the sum or mean of all ranks' gradients, added in the order of the slice.
///
/// # Panics
/// Where the layouts differ, which is a bug of the caller.
pub fn all_reduce(ranks: &mut [Gradients], reduction: Reduction) {
    let count = ranks.len();
    let Some((first, others)) = ranks.split_first_mut() else { return };
    for other in &*others {
        first.add_scaled(1.0, other);
    }
    if reduction == Reduction::Mean {
        first.divide(count as f64);
    }
    for other in others {
        other.values.copy_from_slice(&first.values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autograd::tensor::{Shape, Tensor};

    fn gradients(values: [f64; 2]) -> Gradients {
        let parameters = Parameters::new([("p".to_owned(), Tensor::new(Shape::vector(2), vec![1.0, 1.0]))]);
        let mut gradients = Gradients::zeros(&parameters);
        assert!(gradients.is_clear());
        gradients.values_mut().copy_from_slice(&values);
        gradients
    }

    #[test]
    fn every_rank_gets_the_same() {
        let ranks = [gradients([1.0, 2.0]), gradients([3.0, -2.0])];
        let mut sum = ranks.clone();
        all_reduce(&mut sum, Reduction::Sum);
        assert_eq!(sum, [gradients([4.0, 0.0]), gradients([4.0, 0.0])]);
        let mut mean = ranks;
        all_reduce(&mut mean, Reduction::Mean);
        assert_eq!(mean, [gradients([2.0, 0.0]), gradients([2.0, 0.0])]);
    }

    #[test]
    fn arithmetic() {
        let mut g = gradients([1.0, -3.0]);
        g.scale(2.0);
        g.divide(4.0);
        g.add_scaled(-1.0, &gradients([0.5, 0.0]));
        assert_eq!(g.values(), [0.0, -1.5]);
        assert!(!g.is_clear() && g.is_finite());
        g.values_mut()[0] = f64::NAN;
        assert!(!g.is_finite());
        g.clear();
        assert!(g.is_clear());
    }
}

//! Sums of many terms in one fixed order that a vector unit can follow.

/// Partial sums that run side by side. A constant of the result: it may not depend on the CPU.
const LANES: usize = 8;

/// The sum of `term(0) … term(len - 1)`. Of whole groups of eight, term i goes to partial sum i mod 8 in ascending order,
/// and the partial sums are added in the tree ((0+4)+(2+6))+((1+5)+(3+7)); the up to seven terms after them follow one by
/// one. Beside being fast this errs less than one running sum, which it is for fewer than eight terms.
#[inline(always)]
pub(in crate::autograd) fn sum(len: usize, term: impl Fn(usize) -> f64) -> f64 {
    let whole = len - len % LANES;
    let mut lanes = [0.0; LANES];
    for start in (0..whole).step_by(LANES) {
        for (lane, partial) in lanes.iter_mut().enumerate() {
            *partial += term(start + lane);
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    let groups = ((a + e) + (c + g)) + ((b + f) + (d + h));
    (whole..len).fold(groups, |sum, i| sum + term(i))
}

/// The sum of products of two equally long slices.
pub(in crate::autograd) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let b = &b[..a.len()];
    sum(a.len(), |i| a[i] * b[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_the_written_one() {
        let terms = [1e16, 1.0, -1e16, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let groups = ((1e16 + 1.0) + (-1e16 + 1.0)) + ((1.0 + 1.0) + (1.0 + 1.0));
        assert_eq!(sum(terms.len(), |i| terms[i]), groups + 1.0);
        // Fewer than eight: from left to right.
        assert_eq!(sum(4, |i| terms[i]), ((1e16 + 1.0) - 1e16) + 1.0);
        assert_eq!(dot(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 32.0);
        assert_eq!(sum(0, |_| 1.0), 0.0);
    }
}

//! Cosines and sines of rotary position embedding.
//!
//! Source: Su et al., *RoFormer*, arXiv:2104.09864, §3.4.2; layout "half" as in Hugging Face `modeling_llama.py`
//! `rotate_half`, "interleaved" as in the paper.

use crate::numeric::math;

/// Which two components of a head are rotated together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Component i with i + d/2.
    Half,
    /// Component 2i with 2i + 1.
    Interleaved,
}

impl Pairing {
    /// The components of pair `index` in a head of `dimension` components.
    #[must_use]
    pub fn components(self, index: usize, dimension: usize) -> (usize, usize) {
        match self {
            Self::Half => (index, index + dimension / 2),
            Self::Interleaved => (2 * index, 2 * index + 1),
        }
    }
}

/// Angles t · base^(-2i/d) of position t and pair i, as cosines and sines.
#[derive(Clone, Debug, PartialEq)]
pub struct RotaryTable {
    pairing: Pairing,
    pairs: usize,
    /// (cosine, sine) of position 0's pairs, then position 1's, …
    turns: Vec<(f64, f64)>,
}

impl RotaryTable {
    /// The table for `positions` positions and heads of `dimension` components.
    ///
    /// # Panics
    /// Where `dimension` is odd, which is a bug of the caller.
    #[must_use]
    pub fn new(positions: usize, dimension: usize, base: f64, pairing: Pairing) -> Self {
        assert!(dimension.is_multiple_of(2), "bug: a head of {dimension} components has no pairs");
        let pairs = dimension / 2;
        let frequencies: Vec<f64> =
            (0..pairs).map(|pair| math::pow(base, -((2 * pair) as f64) / dimension as f64)).collect();
        let turn = |angle: f64| (math::cos(angle), math::sin(angle));
        let turns = (0..positions).flat_map(|t| frequencies.iter().map(move |f| turn(t as f64 * f))).collect();
        Self { pairing, pairs, turns }
    }

    /// Which components are rotated together.
    #[must_use]
    pub fn pairing(&self) -> Pairing {
        self.pairing
    }

    /// Components of a head.
    #[must_use]
    pub fn dimension(&self) -> usize {
        2 * self.pairs
    }

    /// Number of positions the table reaches.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.turns.len().checked_div(self.pairs).unwrap_or(0)
    }

    /// Numbers that it holds: a cosine and a sine for each pair and position.
    #[must_use]
    pub fn values(&self) -> usize {
        2 * self.turns.len()
    }

    /// (cosine, sine) of each pair at `position`.
    #[must_use]
    pub fn at(&self, position: usize) -> &[(f64, f64)] {
        &self.turns[position * self.pairs..][..self.pairs]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_zero_turns_nothing_and_frequencies_fall() {
        let table = RotaryTable::new(3, 4, 10000.0, Pairing::Half);
        assert_eq!(table.at(0), [(1.0, 0.0), (1.0, 0.0)]);
        assert_eq!(table.at(2), [(math::cos(2.0), math::sin(2.0)), (math::cos(0.02), math::sin(0.02))]);
        assert_eq!((table.positions(), table.dimension()), (3, 4));
    }

    #[test]
    fn pairs() {
        assert_eq!((Pairing::Half.components(1, 8), Pairing::Interleaved.components(1, 8)), ((1, 5), (2, 3)));
    }
}

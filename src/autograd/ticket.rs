//! A dropout ticket: all that is needed to form one mask, as often as it is wanted, without drawing anything.
//!
//! Random words come from a counter (Salmon et al., *Parallel Random Numbers: As Easy as 1, 2, 3*, SC 2011; here with
//! SplitMix64's output function), so that a range of the counter says which words a site consumed.

use std::ops::Range;

use crate::numeric::random::{unit, word_at};

/// Seed, site, range of the counter and probability of one use of dropout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Of the stream.
    pub seed: u64,
    /// Which use of dropout in the model this is, counted from 0 in the order of the forward.
    pub site: u64,
    /// The words that it consumed, one for each element.
    pub range: Range<u64>,
    /// The bits of the probability with which an element becomes 0.
    pub probability_bits: u64,
}

impl Ticket {
    /// The probability with which an element becomes 0.
    #[must_use]
    pub fn probability(&self) -> f64 {
        f64::from_bits(self.probability_bits)
    }

    /// Number of elements.
    #[must_use]
    pub fn words(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// What each element is multiplied by: 0, or 1/(1 − probability) where it is kept.
    pub fn mask(&self) -> impl Iterator<Item = f64> + use<> {
        let (seed, probability) = (self.seed, self.probability());
        let kept = 1.0 / (1.0 - probability);
        self.range.clone().map(move |position| if unit(word_at(seed, position)) < probability { 0.0 } else { kept })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(range: Range<u64>, probability: f64) -> Ticket {
        Ticket { seed: 39, site: 0, range, probability_bits: probability.to_bits() }
    }

    #[test]
    fn a_part_of_a_range_is_the_part_of_its_mask() {
        let whole: Vec<f64> = ticket(0..96, 0.5).mask().collect();
        let part: Vec<f64> = ticket(48..96, 0.5).mask().collect();
        assert_eq!(whole[48..], part);
        assert!(whole.contains(&0.0) && whole.contains(&2.0));
    }

    #[test]
    fn about_as_many_are_dropped_as_asked_for() {
        for probability in [0.0, 0.1, 0.5, 0.9] {
            let dropped = ticket(0..10_000, probability).mask().filter(|factor| *factor == 0.0).count();
            // Four standard deviations of a binomial of 10 000 draws are at most 200.
            assert!((dropped as f64 - 10_000.0 * probability).abs() <= 200.0, "{dropped} at {probability}");
        }
    }
}

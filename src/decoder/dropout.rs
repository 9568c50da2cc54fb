//! Dropout as a training loop has it: a live counter that hands out tickets in the order of the forward.
//!
//! Two sites a block, both before the residual addition: after attention's output layer and after the feed-forward part.
//! A site takes one word for each of its positions × width elements.

use crate::autograd::ticket::Ticket;

/// Probability, seed and live counter. Nothing but a forward advances the counter.
#[derive(Clone, Debug, PartialEq)]
pub struct Dropout {
    probability: f64,
    seed: u64,
    counter: u64,
    sites: u64,
}

/// A probability that is none, or that would drop everything.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a dropout probability of {0}: it must be at least 0 and below 1")]
pub struct InvalidProbability(pub f64);

impl Dropout {
    /// Dropout of the given probability; the counter stands at 0.
    ///
    /// # Errors
    /// [`InvalidProbability`] outside [0, 1).
    pub fn new(probability: f64, seed: u64) -> Result<Self, InvalidProbability> {
        if (0.0..1.0).contains(&probability) {
            Ok(Self { probability, seed, counter: 0, sites: 0 })
        } else {
            Err(InvalidProbability(probability))
        }
    }

    /// The probability with which an element becomes 0.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// The next word's number: how many were consumed so far.
    #[must_use]
    pub fn counter(&self) -> u64 {
        self.counter
    }

    /// Sets the counter back or forward: what a retry with the same masks does.
    pub fn set_counter(&mut self, counter: u64) {
        self.counter = counter;
    }

    /// Sites are numbered from 0 in every forward.
    pub(super) fn begin_forward(&mut self) {
        self.sites = 0;
    }

    /// Takes the next `words` words for the forward's next site.
    pub(super) fn draw(&mut self, words: usize) -> Ticket {
        let range = self.counter..self.counter + words as u64;
        let ticket = Ticket { seed: self.seed, site: self.sites, range, probability_bits: self.probability.to_bits() };
        self.counter = ticket.range.end;
        self.sites += 1;
        ticket
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities() {
        for wrong in [-0.1, 1.0, f64::NAN, f64::INFINITY] {
            assert!(Dropout::new(wrong, 0).is_err(), "{wrong}");
        }
        assert!(Dropout::new(0.0, 0).is_ok() && Dropout::new(0.999, 0).is_ok());
    }

    #[test]
    fn ranges_follow_each_other() {
        let mut dropout = Dropout::new(0.5, 39).unwrap();
        let (a, b) = (dropout.draw(48), dropout.draw(16));
        assert_eq!((a.site, a.range, b.site, b.range, dropout.counter()), (0, 0..48, 1, 48..64, 64));
        dropout.set_counter(0);
        dropout.begin_forward();
        let again = dropout.draw(48);
        assert_eq!((again.site, again.range), (0, 0..48));
    }
}

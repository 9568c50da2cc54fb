//! Gradients of a window: sums of recorded numerators under weights, element by element.
//!
//! Invariant: what the receipt shows is rounded once from an exact sum; nothing here needs memory beyond the results.
use super::microbatch::Microbatch;
use super::window::WindowLedger;
use crate::canonical::Finite;
use crate::manifest::event::Event;
use crate::manifest::list::Vector;
use crate::manifest::window::Window;
use crate::numeric::exact::ExactSum;

/// The gradient numerators of a window's microbatches, in the ledger's order, all of one length.
pub struct Numerators<'a> {
    vectors: Vec<&'a [Finite]>,
}

/// What a window's gradient numerators come to. \[D\] each.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradients {
    /// Σ G / N: the gradient of the window as one batch.
    pub token_mean: Vec<f64>,
    /// Σ f·G / c under the declared formula; `None` where f is not known.
    pub declared: Option<Vec<f64>>,
    /// (1/(W·k)) Σ G/n; `None` where a microbatch has no target.
    pub mean_of_means: Option<Vec<f64>>,
    /// Σ f_seen·G / c; `None` where a weight was not seen.
    pub seen: Option<Vec<f64>>,
    /// Whether auxiliary losses, whose gradients are not in the numerators, were differentiated too.
    pub has_auxiliary: bool,
}

impl<'a> Numerators<'a> {
    /// Those of a window; `None` unless every microbatch is finite and has one.
    pub fn of(window: &'a Window, ledger: &'a WindowLedger) -> Option<Self> {
        let mut vectors: Vec<&[Finite]> = Vec::new();
        let mut carried = ledger.carried.iter();
        for microbatch in &ledger.microbatches {
            let vector = match microbatch.source {
                None => carried.next()?.gradient_sum.as_deref()?,
                Some(source) => match &window.ranks.get(microbatch.rank as usize)?.events.get(source.position)?.event {
                    Event::Backward(backward) if backward.loss_sum.is_some() => backward.gradient_sum.as_deref()?,
                    _ => return None,
                },
            };
            if vectors.first().is_some_and(|first| first.len() != vector.len()) {
                return None;
            }
            vectors.push(vector);
        }
        (!vectors.is_empty()).then_some(Numerators { vectors })
    }

    /// D.
    pub fn dimension(&self) -> usize {
        self.vectors[0].len()
    }

    /// The numerator of a microbatch.
    pub fn get(&self, microbatch: usize) -> &'a [Finite] {
        self.vectors[microbatch]
    }

    /// Σ weight·G / c of every element; `weights` has one for each microbatch.
    pub fn weighted(&self, weights: &[f64], c: u64) -> Vec<f64> {
        self.each(|sum, element| {
            for (vector, &weight) in self.vectors.iter().zip(weights) {
                sum.add_product(weight, vector[element].get());
            }
            sum.over(c)
        })
    }

    /// Σ G / count of every element.
    pub fn over(&self, count: u64) -> Vec<f64> {
        self.each(|sum, element| {
            sum.extend(self.vectors.iter().map(|vector| vector[element].get()));
            sum.over(count.max(1))
        })
    }

    /// The mean of microbatch means of every element; `None` where one has no target.
    pub fn mean_of_means(&self, ledger: &WindowLedger) -> Option<Vec<f64>> {
        let targets = ledger.microbatches.iter().map(|microbatch| microbatch.valid_targets as f64);
        let targets: Vec<f64> = targets.collect();
        targets.iter().all(|&targets| targets > 0.0).then(|| {
            self.each(|sum, element| {
                sum.extend(self.vectors.iter().zip(&targets).map(|(vector, targets)| vector[element].get() / targets));
                sum.over(targets.len() as u64)
            })
        })
    }

    fn each(&self, element: impl Fn(&mut ExactSum, usize) -> f64) -> Vec<f64> {
        let mut sum = ExactSum::new();
        (0..self.dimension())
            .map(|index| {
                sum.clear();
                element(&mut sum, index)
            })
            .collect()
    }
}

impl Gradients {
    /// Those of a window, where every microbatch is finite and has a numerator.
    pub fn of(window: &Window, ledger: &WindowLedger, is_token_mean: bool) -> Option<Self> {
        if ledger.nonfinite > 0 || ledger.counts.valid_targets == 0 {
            return None;
        }
        let numerators = Numerators::of(window, ledger)?;
        let c = ledger.counts.reduction;
        let token_mean = numerators.over(ledger.counts.valid_targets);
        let weights = |weight: fn(&Microbatch) -> Option<f64>| {
            let or_none = |microbatch| if empty(microbatch) { Some(0.0) } else { weight(microbatch) };
            ledger.microbatches.iter().map(or_none).collect::<Option<Vec<f64>>>()
        };
        let declared = match is_token_mean {
            true => Some(token_mean.clone()),
            false => weights(|microbatch| microbatch.declared).map(|weights| numerators.weighted(&weights, c)),
        };
        let seen = weights(|microbatch| microbatch.seen()).map(|weights| numerators.weighted(&weights, c));
        let all_finite = |vector: &Vec<f64>| vector.iter().all(|value| value.is_finite());
        Some(Gradients {
            token_mean: Some(token_mean).filter(all_finite)?,
            declared: declared.filter(all_finite),
            mean_of_means: numerators.mean_of_means(ledger).filter(all_finite),
            seen: seen.filter(all_finite),
            has_auxiliary: ledger.microbatches.iter().any(|microbatch| microbatch.auxiliary.is_some()),
        })
    }
}

/// One without targets contributes nothing.
fn empty(microbatch: &Microbatch) -> bool {
    microbatch.valid_targets == 0
}

/// The L2 norm: the root of the exact sum of squares. Where squares overflow or vanish, elements are scaled first, by a
/// power of two, so that no digit is lost.
pub fn norm(vector: &[f64]) -> f64 {
    let squares = |scale: f64| {
        let mut sum = ExactSum::new();
        vector.iter().for_each(|value| sum.add_product(value * scale, value * scale));
        sum.to_f64()
    };
    let greatest = vector.iter().fold(0.0, |greatest: f64, value| greatest.max(value.abs()));
    match greatest {
        0.0 => 0.0,
        large if !large.is_finite() => f64::INFINITY,
        large if large > LARGE => squares(1.0 / LARGE).sqrt() * LARGE,
        small if small < 1.0 / LARGE => squares(LARGE).sqrt() / LARGE,
        _ => squares(1.0).sqrt(),
    }
}

/// 2^500: squares of numbers up to it, and of its inverse, are ordinary numbers.
const LARGE: f64 = f64::from_bits((500 + 1023) << 52);

/// A recorded vector's values.
pub fn values(vector: &Vector) -> impl Iterator<Item = f64> {
    vector.iter().map(|value| value.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_neither_overflow_nor_vanish() {
        assert_eq!(norm(&[3.0, -4.0]), 5.0);
        let power = |exponent: u64| f64::from_bits((exponent + 1023) << 52);
        for unit in [power(700), 1.0 / power(700)] {
            assert_eq!(norm(&[3.0 * unit, -4.0 * unit]), 5.0 * unit);
        }
        assert_eq!(norm(&[0.0, 0.0]), 0.0);
        assert_eq!(norm(&[]), 0.0);
    }
}

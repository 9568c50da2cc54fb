//! Learning rates by index j, the number of ticks that are owed before a step.
//!
//! Sources: Hugging Face `get_linear_schedule_with_warmup`, `get_cosine_schedule_with_warmup`; the floor as in
//! Loshchilov and Hutter, arXiv:1608.03983, eq. 5. A schedule that was only recorded has no formula: its rates are the
//! recorded ones.

use std::f64::consts::PI;

use crate::numeric::math;

/// A learning-rate schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// Always `peak`.
    Constant {
        /// The rate.
        peak: f64,
    },
    /// From 0 up to `peak` over the warm-up, then down to 0 in a straight line.
    Linear {
        /// The greatest rate.
        peak: f64,
        /// Steps of the warm-up.
        warmup_steps: u64,
        /// Steps until the rate is 0.
        total_steps: u64,
    },
    /// The same warm-up, then half a cosine down to `floor`.
    Cosine {
        /// The greatest rate.
        peak: f64,
        /// Steps of the warm-up.
        warmup_steps: u64,
        /// Steps until the rate is `floor`.
        total_steps: u64,
        /// The least rate after the warm-up.
        floor: f64,
    },
}

impl Schedule {
    /// The rate of the step with index `j`, counted from 0. Where total_steps ≤ warmup_steps the rate is at its end
    /// as soon as the warm-up is over.
    #[must_use]
    pub fn rate(&self, j: u64) -> f64 {
        match *self {
            Self::Constant { peak } => peak,
            Self::Linear { peak, warmup_steps, .. } | Self::Cosine { peak, warmup_steps, .. } if j < warmup_steps => {
                peak * (j as f64 / warmup_steps as f64)
            }
            Self::Linear { peak, warmup_steps, total_steps } => {
                let left = total_steps.saturating_sub(j) as f64;
                let span = total_steps.saturating_sub(warmup_steps) as f64;
                if left == 0.0 { 0.0 } else { peak * (left / span) }
            }
            Self::Cosine { peak, warmup_steps, total_steps, floor } => {
                let span = total_steps.saturating_sub(warmup_steps) as f64;
                let done = (j - warmup_steps) as f64;
                let progress = if done >= span { 1.0 } else { done / span };
                floor + (peak - floor) * (1.0 + math::cos(PI * progress)) / 2.0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(schedule: Schedule, indices: &[u64]) -> Vec<f64> {
        indices.iter().map(|&j| schedule.rate(j)).collect()
    }

    #[test]
    fn constant() {
        assert_eq!(rates(Schedule::Constant { peak: 0.5 }, &[0, 1, 1000]), [0.5; 3]);
    }

    #[test]
    fn linear() {
        let schedule = Schedule::Linear { peak: 2.0, warmup_steps: 4, total_steps: 12 };
        assert_eq!(rates(schedule, &[0, 1, 4, 8, 12, 99]), [0.0, 0.5, 2.0, 1.0, 0.0, 0.0]);
        let none = Schedule::Linear { peak: 2.0, warmup_steps: 0, total_steps: 4 };
        assert_eq!(rates(none, &[0, 1]), [2.0, 1.5]);
    }

    #[test]
    fn cosine() {
        let schedule = Schedule::Cosine { peak: 3.0, warmup_steps: 2, total_steps: 10, floor: 1.0 };
        let got = rates(schedule, &[0, 1, 2, 6, 10, 50]);
        for (got, want) in got.iter().zip([0.0, 1.5, 3.0, 2.0, 1.0, 1.0]) {
            assert!((got - want).abs() < 1e-15, "{got}, {want}");
        }
    }

    #[test]
    fn nothing_after_the_warm_up() {
        let linear = Schedule::Linear { peak: 2.0, warmup_steps: 2, total_steps: 2 };
        assert_eq!(rates(linear, &[1, 2, 3]), [1.0, 0.0, 0.0]);
        let cosine = Schedule::Cosine { peak: 2.0, warmup_steps: 2, total_steps: 1, floor: 0.5 };
        assert_eq!(rates(cosine, &[1, 2]), [1.0, 0.5]);
    }
}

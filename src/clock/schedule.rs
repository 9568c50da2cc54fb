//! The declared learning rate at an index (MANIFEST.md §7).
//!
//! The index j counts the ticks that the contract owes, so that a schedule declared in updates stays one whatever the
//! loop did. `linear` and `cosine` are those of `transformers.optimization` (4.57) and PyTorch's `LambdaLR`.
use crate::manifest::contract::Scheduler;
use crate::numeric::math;

/// The rate at index j, or `None` where any values are declared right (`recorded`).
pub fn rate(scheduler: &Scheduler, j: u64) -> Option<f64> {
    let shape = match *scheduler {
        Scheduler::Recorded { .. } => return None,
        Scheduler::Constant { peak, .. } => return Some(peak.get()),
        Scheduler::Linear { peak, warmup_steps, total_steps, .. } => {
            Shape { peak: peak.get(), warmup: warmup_steps.get(), total: total_steps.get() }
        }
        Scheduler::Cosine { peak, warmup_steps, total_steps, .. } => {
            Shape { peak: peak.get(), warmup: warmup_steps.get(), total: total_steps.get() }
        }
    };
    if j < shape.warmup {
        return Some(shape.peak * j as f64 / shape.warmup as f64);
    }
    Some(match *scheduler {
        Scheduler::Cosine { floor, .. } => {
            let wave = 1.0 + math::cos(std::f64::consts::PI * shape.progress(j));
            floor.get() + (shape.peak - floor.get()) * wave / 2.0
        }
        _ => shape.peak * shape.remaining(j),
    })
}

/// The highest rate, against which a reference of exactly 0 is compared.
pub fn peak(scheduler: &Scheduler) -> f64 {
    match *scheduler {
        Scheduler::Constant { peak, .. } | Scheduler::Linear { peak, .. } | Scheduler::Cosine { peak, .. } => {
            peak.get()
        }
        Scheduler::Recorded { .. } => 0.0,
    }
}

/// What warm-up and decay have in common.
struct Shape {
    peak: f64,
    warmup: u64,
    total: u64,
}

impl Shape {
    /// How much of the decay is over at index j ≥ warm-up, 0 to 1. Without a decay (`total ≤ warmup`) it is over.
    fn progress(&self, j: u64) -> f64 {
        let length = self.total.saturating_sub(self.warmup);
        if length == 0 { 1.0 } else { ((j - self.warmup) as f64 / length as f64).min(1.0) }
    }

    /// How much of the decay is left, 1 to 0.
    fn remaining(&self, j: u64) -> f64 {
        let length = self.total.saturating_sub(self.warmup);
        if length == 0 { 0.0 } else { self.total.saturating_sub(j) as f64 / length as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rates(scheduler: serde_json::Value, indices: &[u64]) -> Vec<f64> {
        let scheduler = serde_json::from_value(scheduler).expect("a scheduler");
        indices.iter().map(|&j| rate(&scheduler, j).expect("a rate")).collect()
    }

    #[test]
    fn known_values() {
        let linear = json!({"name": "linear", "peak": 0.01, "warmup_steps": 2, "total_steps": 10});
        assert_eq!(rates(linear, &[0, 1, 2, 6, 9, 10, 11]), [0.0, 0.005, 0.01, 0.005, 0.00125, 0.0, 0.0]);
        let cosine = json!({"name": "cosine", "peak": 3.0, "warmup_steps": 1, "total_steps": 5, "floor": 1.0});
        let expected =
            [0.0, 3.0, 2.0 + std::f64::consts::FRAC_1_SQRT_2, 2.0, 2.0 - std::f64::consts::FRAC_1_SQRT_2, 1.0, 1.0];
        for (rate, expected) in rates(cosine, &[0, 1, 2, 3, 4, 5, 9]).into_iter().zip(expected) {
            assert!((rate - expected).abs() < 1e-15, "{rate} {expected}");
        }
        assert_eq!(rates(json!({"name": "constant", "peak": 0.3}), &[0, 99]), [0.3, 0.3]);
    }

    /// torchtune 0.6.1, `get_cosine_schedule_with_warmup(num_warmup_steps=1, num_training_steps=8)` on rate 0.01, recorded.
    #[test]
    fn agrees_with_a_recorded_cosine() {
        let recorded = [0.0, 0.01, 0.009504844339512096, 0.008117449009293669, 0.006112604669781572];
        let cosine = json!({"name": "cosine", "peak": 0.01, "warmup_steps": 1, "total_steps": 8, "floor": 0.0});
        for (rate, recorded) in rates(cosine, &[0, 1, 2, 3, 4]).into_iter().zip(recorded) {
            assert!((rate - recorded).abs() <= 1e-15, "{rate} {recorded}");
        }
    }

    #[test]
    fn a_schedule_without_decay_ends_at_its_floor() {
        let linear = json!({"name": "linear", "peak": 1.0, "warmup_steps": 2, "total_steps": 2});
        assert_eq!(rates(linear, &[1, 2]), [0.5, 0.0]);
    }
}

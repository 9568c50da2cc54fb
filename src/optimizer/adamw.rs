//! AdamW: Adam with decoupled weight decay.
//!
//! Source: Loshchilov and Hutter, *Decoupled Weight Decay Regularization*, arXiv:1711.05101, algorithm 2, in PyTorch
//! 2.6's order of operations (`torch.optim.AdamW`, foreach=False):
//!
//! ```text
//! p *= 1 - lr·wd;  m = b1·m + (1 - b1)·g;  v = b2·v + (1 - b2)·g²
//! p -= lr/(1 - b1ᵗ) · m / (√v/√(1 - b2ᵗ) + ε)
//! ```

use crate::numeric::vector::{self, Kernel};
use crate::optimizer::NotFinite;

/// What stays the same from step to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Decay of the mean gradient, in [0, 1).
    pub beta1: f64,
    /// Decay of the mean square, in [0, 1).
    pub beta2: f64,
    /// Added to the root of the mean square; above 0.
    pub epsilon: f64,
    /// Decoupled decay: the part lr·wd of each parameter is taken away in each step.
    pub weight_decay: f64,
}

impl Default for Settings {
    /// 0.9, 0.999, 1e-8, 0.01.
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weight_decay: 0.01 }
    }
}

/// What a step changes beside the parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Decaying mean of the gradient, one number for each parameter element.
    pub first: Vec<f64>,
    /// Decaying mean of its square.
    pub second: Vec<f64>,
    /// b1ᵗ, multiplied up.
    pub beta1_power: f64,
    /// b2ᵗ, multiplied up.
    pub beta2_power: f64,
    /// t, the steps made.
    pub steps: u64,
}

/// AdamW with its state.
#[derive(Clone, Debug)]
pub struct AdamW {
    settings: Settings,
    state: State,
    /// Where the next parameters and moments are written before they count.
    next: [Vec<f64>; 3],
}

/// The buffers of a step are no part of the state.
impl PartialEq for AdamW {
    fn eq(&self, other: &Self) -> bool {
        self.settings == other.settings && self.state == other.state
    }
}

impl AdamW {
    /// Zero moments for `parameters` elements.
    #[must_use]
    pub fn new(settings: Settings, parameters: usize) -> Self {
        let zeros = || vec![0.0; parameters];
        let state = State { first: zeros(), second: zeros(), beta1_power: 1.0, beta2_power: 1.0, steps: 0 };
        Self { settings, state, next: [zeros(), zeros(), zeros()] }
    }

    /// What stays the same.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Moments, powers and step count.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// One step at the given learning rate.
    ///
    /// # Errors
    /// [`NotFinite`]: parameters and state are as they were.
    ///
    /// # Panics
    /// Where the numbers of parameters, gradients and moments differ, which is a bug of the caller.
    pub fn step(&mut self, learning_rate: f64, parameters: &mut [f64], gradients: &[f64]) -> Result<(), NotFinite> {
        let Settings { beta1, beta2, epsilon, weight_decay } = self.settings;
        let (beta1_power, beta2_power) = (self.state.beta1_power * beta1, self.state.beta2_power * beta2);
        let len = self.state.first.len();
        assert!(parameters.len() == len && gradients.len() == len, "bug: moments for {len} elements");
        let [next_p, next_m, next_v] = &mut self.next;
        let finite = vector::on_widest(Step {
            old: [parameters, &self.state.first, &self.state.second, gradients],
            new: [next_p, next_m, next_v],
            decays: [beta1, beta2],
            kept: 1.0 - learning_rate * weight_decay,
            pace: learning_rate / (1.0 - beta1_power),
            root: (1.0 - beta2_power).sqrt(),
            epsilon,
        });
        if !finite {
            return Err(NotFinite::find(self.state.steps + 1, &[next_p, next_m, next_v]));
        }

        parameters.copy_from_slice(next_p);
        std::mem::swap(&mut self.state.first, &mut self.next[1]);
        std::mem::swap(&mut self.state.second, &mut self.next[2]);
        (self.state.beta1_power, self.state.beta2_power) = (beta1_power, beta2_power);
        self.state.steps += 1;
        Ok(())
    }
}

/// One step of every element.
struct Step<'a> {
    /// Parameters, both moments, gradients.
    old: [&'a [f64]; 4],
    /// Parameters, both moments.
    new: [&'a mut [f64]; 3],
    decays: [f64; 2],
    /// 1 - lr·wd.
    kept: f64,
    /// lr/(1 - b1ᵗ).
    pace: f64,
    /// √(1 - b2ᵗ).
    root: f64,
    epsilon: f64,
}

impl Kernel for Step<'_> {
    /// Whether all that was written is finite.
    type Output = bool;

    #[inline(always)]
    fn run<const WIDE: bool>(self) -> bool {
        let Self { old, new, decays: [beta1, beta2], kept, pace, root, epsilon } = self;
        let len = old[0].len();
        let [p, m, v, g] = old.map(|buffer| &buffer[..len]);
        let [next_p, next_m, next_v] = new.map(|buffer| &mut buffer[..len]);
        let mut finite = true;
        for i in 0..len {
            let first = beta1 * m[i] + (1.0 - beta1) * g[i];
            let second = beta2 * v[i] + (1.0 - beta2) * (g[i] * g[i]);
            next_p[i] = p[i] * kept - pace * first / (second.sqrt() / root + epsilon);
            next_m[i] = first;
            next_v[i] = second;
            finite &= next_p[i].is_finite() & first.is_finite() & second.is_finite();
        }
        finite
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `adamw_scalar` of the golden file: PyTorch 2.6, three steps, a zero gradient and tiny ones included.
    #[test]
    fn three_known_steps() {
        let mut p = [0.5, -0.25, 0.0, 2.0];
        let mut adamw = AdamW::new(Settings::default(), 4);
        let gradients = [[0.1, -0.2, 0.0, 1e-9], [0.3, 0.1, 0.0, -1e-9], [-0.1, 0.0, 0.0, 5.0]];
        let known = [
            [0.4899500009999999, -0.23997500049999998, 0.0, 1.998890909090909],
            [0.48072319522045903, -0.23728763277181758, 0.0, 1.998738866889952],
            [0.4758382046723898, -0.23520511113222492, 0.0, 1.9921508570315107],
        ];
        for (g, known) in gradients.iter().zip(known) {
            adamw.step(0.01, &mut p, g).unwrap();
            for (got, known) in p.iter().zip(known) {
                assert!((got - known).abs() <= 1e-15, "{got}, PyTorch {known}");
            }
        }
        assert_eq!(adamw.state().steps, 3);
        assert!((adamw.state().beta1_power - 0.729).abs() < 1e-15);
    }

    #[test]
    fn an_overflowing_step_changes_nothing() {
        let mut p = [1.0, 1.0];
        let mut adamw = AdamW::new(Settings::default(), 2);
        adamw.step(0.01, &mut p, &[1.0, 1.0]).unwrap();
        let (before, p_before) = (adamw.clone(), p);
        let error = adamw.step(0.01, &mut p, &[0.0, 1e200]).unwrap_err();
        assert_eq!(error, NotFinite { step: 2, element: 1 });
        assert_eq!((&adamw, p), (&before, p_before));
        assert_eq!(error.to_string(), "optimizer step 2 would make element 1 not finite");
    }

    /// Coupled decay would be divided by the root of the mean square; decoupled decay is not.
    #[test]
    fn decay_is_decoupled() {
        let mut p = [2.0];
        let mut adamw = AdamW::new(Settings { weight_decay: 0.5, ..Settings::default() }, 1);
        adamw.step(0.1, &mut p, &[0.0]).unwrap();
        assert_eq!(p, [2.0 * 0.95]);
    }
}

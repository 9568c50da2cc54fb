//! Stochastic gradient descent with momentum and coupled weight decay.
//!
//! Source: `torch.optim.SGD` of PyTorch 2.6 without dampening or Nesterov: `g += wd·p; buf = momentum·buf + g;
//! p -= lr·buf`.

use crate::optimizer::NotFinite;

/// What stays the same from step to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How much of the last step's buffer is kept, in [0, 1).
    pub momentum: f64,
    /// This part of each parameter is added to its gradient.
    pub weight_decay: f64,
}

/// What a step changes beside the parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The momentum buffer, one number for each parameter element.
    pub momentum: Vec<f64>,
    /// The steps made.
    pub steps: u64,
}

/// SGD with its state.
#[derive(Clone, Debug)]
pub struct Sgd {
    settings: Settings,
    state: State,
    /// Where the next parameters and buffer are written before they count.
    next: [Vec<f64>; 2],
}

/// The buffers of a step are no part of the state.
impl PartialEq for Sgd {
    fn eq(&self, other: &Self) -> bool {
        self.settings == other.settings && self.state == other.state
    }
}

impl Sgd {
    /// A zero buffer for `parameters` elements.
    #[must_use]
    pub fn new(settings: Settings, parameters: usize) -> Self {
        let zeros = || vec![0.0; parameters];
        Self { settings, state: State { momentum: zeros(), steps: 0 }, next: [zeros(), zeros()] }
    }

    /// What stays the same.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Buffer and step count.
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
    /// Where the numbers of parameters, gradients and buffer elements differ, which is a bug of the caller.
    pub fn step(&mut self, learning_rate: f64, parameters: &mut [f64], gradients: &[f64]) -> Result<(), NotFinite> {
        let Settings { momentum, weight_decay } = self.settings;
        let len = self.state.momentum.len();
        assert!(parameters.len() == len && gradients.len() == len, "bug: a buffer for {len} elements");
        let [next_p, next_buffer] = &mut self.next;
        let mut finite = true;
        for i in 0..len {
            let g = gradients[i] + weight_decay * parameters[i];
            next_buffer[i] = momentum * self.state.momentum[i] + g;
            next_p[i] = parameters[i] - learning_rate * next_buffer[i];
            finite &= next_p[i].is_finite() & next_buffer[i].is_finite();
        }
        if !finite {
            return Err(NotFinite::find(self.state.steps + 1, &[next_p, next_buffer]));
        }

        parameters.copy_from_slice(next_p);
        std::mem::swap(&mut self.state.momentum, &mut self.next[1]);
        self.state.steps += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_steps_by_hand() {
        let mut p = [1.0, -2.0];
        let mut sgd = Sgd::new(Settings { momentum: 0.5, weight_decay: 0.25 }, 2);
        sgd.step(0.5, &mut p, &[0.75, 1.0]).unwrap();
        // g = (1, 0.5); p = (0.5, -2.25)
        assert_eq!(p, [0.5, -2.25]);
        sgd.step(0.5, &mut p, &[0.0, 0.0625]).unwrap();
        // g = (0.125, -0.5); buf = (0.625, -0.25); p = (0.1875, -2.125)
        assert_eq!(p, [0.1875, -2.125]);
        assert_eq!(sgd.state(), &State { momentum: vec![0.625, -0.25], steps: 2 });
    }

    #[test]
    fn an_overflowing_step_changes_nothing() {
        let mut p = [f64::MAX];
        let mut sgd = Sgd::new(Settings { momentum: 0.0, weight_decay: 0.0 }, 1);
        let before = sgd.clone();
        assert_eq!(sgd.step(2.0, &mut p, &[f64::MIN]).unwrap_err(), NotFinite { step: 1, element: 0 });
        assert_eq!((&sgd, p), (&before, [f64::MAX]));
    }
}

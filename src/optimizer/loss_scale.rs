//! The loss scale S: what the loss is multiplied by before backward, so that small gradients survive a narrow format.
//!
//! Sources: PyTorch 2.6 `torch.amp.GradScaler` (growth interval, backoff); DeepSpeed 0.16 `DynamicLossScaler`
//! (hysteresis, growth delay). One decision is taken for each logical update, never for each microbatch.

/// When a spent hysteresis is refilled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refill {
    /// When the scale grows.
    #[default]
    Growth,
    /// On every clean window.
    Clean,
}

/// How a dynamic scale moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dynamic {
    /// The scale at the start; finite and above 0.
    pub initial: f64,
    /// What the scale is multiplied by when it grows; at least 1.
    pub growth_factor: f64,
    /// What it is multiplied by when it backs off; above 0 and at most 1.
    pub backoff_factor: f64,
    /// Clean windows in a row before it grows; at least 1.
    pub growth_interval: u64,
    /// Clean windows more before the first growth after the start or an overflow.
    pub growth_delay: u64,
    /// Overflows that it bears before it backs off; at least 1.
    pub hysteresis: u64,
    /// When the hysteresis is refilled.
    pub refill: Refill,
    /// The scale never falls below.
    pub minimum: Option<f64>,
    /// The scale never grows above.
    pub maximum: Option<f64>,
}

impl Default for Dynamic {
    /// PyTorch's defaults: 65536, doubled after 2000 clean windows, halved at an overflow.
    fn default() -> Self {
        Self {
            initial: 65536.0,
            growth_factor: 2.0,
            backoff_factor: 0.5,
            growth_interval: 2000,
            growth_delay: 0,
            hysteresis: 1,
            refill: Refill::Growth,
            minimum: None,
            maximum: None,
        }
    }
}

/// A setting under which the scale could not do its work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("loss scale: {0}")]
pub struct InvalidScale(&'static str);

/// What one window did to the scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The scale that the window used.
    pub before: f64,
    /// The scale from now on.
    pub after: f64,
}

/// The loss scale as a state machine. Cloning it is a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct LossScale {
    value: f64,
    /// `None`: the scale is static.
    dynamic: Option<Dynamic>,
    /// Clean windows since the last growth or overflow.
    tracker: u64,
    hysteresis_left: u64,
    growth_delay_pending: bool,
}

impl LossScale {
    /// A scale that never moves; 1 for no scaling.
    ///
    /// # Errors
    /// [`InvalidScale`] where it is not finite and above 0.
    pub fn fixed(value: f64) -> Result<Self, InvalidScale> {
        check(value.is_finite() && value > 0.0, "the scale must be finite and above 0")?;
        Ok(Self { value, dynamic: None, tracker: 0, hysteresis_left: 0, growth_delay_pending: false })
    }

    /// A scale that grows after clean windows and backs off after overflows.
    ///
    /// # Errors
    /// [`InvalidScale`] where a setting is out of its range.
    pub fn dynamic(settings: Dynamic) -> Result<Self, InvalidScale> {
        let Dynamic { initial, growth_factor, backoff_factor, minimum, maximum, .. } = settings;
        check(initial.is_finite() && initial > 0.0, "the initial scale must be finite and above 0")?;
        check(growth_factor.is_finite() && growth_factor >= 1.0, "the growth factor must be at least 1")?;
        check(backoff_factor > 0.0 && backoff_factor <= 1.0, "the backoff factor must be above 0 and at most 1")?;
        check(settings.growth_interval >= 1, "the growth interval must be at least 1")?;
        check(settings.hysteresis >= 1, "the hysteresis must be at least 1")?;
        let bounds = (minimum.unwrap_or(initial), maximum.unwrap_or(initial));
        check(
            bounds.0 > 0.0 && bounds.0 <= initial && initial <= bounds.1,
            "the initial scale must be within its bounds",
        )?;
        Ok(Self {
            value: initial,
            dynamic: Some(settings),
            tracker: 0,
            hysteresis_left: settings.hysteresis,
            growth_delay_pending: true,
        })
    }

    /// S, now.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Clean windows since the last growth or overflow.
    #[must_use]
    pub fn tracker(&self) -> u64 {
        self.tracker
    }

    /// Overflows that it still bears before it backs off, this one included.
    #[must_use]
    pub fn hysteresis_left(&self) -> u64 {
        self.hysteresis_left
    }

    /// Puts back a recorded state, as at a restore or when a run is resumed.
    pub fn restore(&mut self, value: f64, tracker: u64, hysteresis_left: u64, growth_delay_pending: bool) {
        (self.value, self.tracker) = (value, tracker);
        (self.hysteresis_left, self.growth_delay_pending) = (hysteresis_left, growth_delay_pending);
    }

    /// The decision after a window whose gradients were finite.
    pub fn after_clean(&mut self) -> Decision {
        let before = self.value;
        if let Some(settings) = self.dynamic {
            self.tracker += 1;
            if settings.refill == Refill::Clean {
                self.hysteresis_left = settings.hysteresis;
            }
            let delay = if self.growth_delay_pending { settings.growth_delay } else { 0 };
            if self.tracker >= settings.growth_interval.saturating_add(delay) {
                self.value = (self.value * settings.growth_factor).min(settings.maximum.unwrap_or(f64::MAX));
                self.tracker = 0;
                self.growth_delay_pending = false;
                self.hysteresis_left = settings.hysteresis;
            }
        }
        Decision { before, after: self.value }
    }

    /// The decision after a window that overflowed and was skipped.
    pub fn after_overflow(&mut self) -> Decision {
        let before = self.value;
        if let Some(settings) = self.dynamic {
            self.tracker = 0;
            self.growth_delay_pending = true;
            self.hysteresis_left = self.hysteresis_left.saturating_sub(1);
            if self.hysteresis_left == 0 {
                let least = settings.minimum.unwrap_or(f64::MIN_POSITIVE);
                self.value = (self.value * settings.backoff_factor).max(least);
            }
        }
        Decision { before, after: self.value }
    }
}

fn check(holds: bool, message: &'static str) -> Result<(), InvalidScale> {
    if holds { Ok(()) } else { Err(InvalidScale(message)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(settings: Dynamic) -> LossScale {
        LossScale::dynamic(Dynamic { initial: 128.0, ..settings }).unwrap()
    }

    /// Runs clean (`c`) and overflowing (`o`) windows and gives the scale after each.
    fn run(mut scale: LossScale, windows: &str) -> Vec<f64> {
        let step = |window| if window == 'c' { scale.after_clean().after } else { scale.after_overflow().after };
        windows.chars().map(step).collect()
    }

    #[test]
    fn grows_at_interval_one_up_to_the_maximum() {
        let mut s = scale(Dynamic { growth_interval: 1, maximum: Some(256.0), ..Dynamic::default() });
        assert_eq!(s.after_clean(), Decision { before: 128.0, after: 256.0 });
        assert_eq!(s.after_clean(), Decision { before: 256.0, after: 256.0 });
    }

    #[test]
    fn an_overflow_halves_and_restarts_the_count() {
        let s = scale(Dynamic { growth_interval: 2, ..Dynamic::default() });
        assert_eq!(run(s, "cocc"), [128.0, 64.0, 64.0, 128.0]);
    }

    #[test]
    fn delay_counts_only_before_the_first_growth() {
        let s = scale(Dynamic { growth_interval: 1, growth_delay: 2, ..Dynamic::default() });
        assert_eq!(run(s, "cccc"), [128.0, 128.0, 256.0, 512.0]);
        let s = scale(Dynamic { growth_interval: 1, growth_delay: 1, ..Dynamic::default() });
        assert_eq!(run(s, "ccoccc"), [128.0, 256.0, 128.0, 128.0, 256.0, 512.0]);
    }

    #[test]
    fn hysteresis_bears_overflows_until_refilled() {
        let two = Dynamic { growth_interval: 9, hysteresis: 2, ..Dynamic::default() };
        assert_eq!(run(scale(two), "oooco"), [128.0, 64.0, 32.0, 32.0, 16.0]);
        let clean = Dynamic { refill: Refill::Clean, ..two };
        assert_eq!(run(scale(clean), "oooco"), [128.0, 64.0, 32.0, 32.0, 32.0]);
        let growing = Dynamic { growth_interval: 1, ..two };
        assert_eq!(run(scale(growing), "ooco"), [128.0, 64.0, 128.0, 128.0]);
    }

    #[test]
    fn the_minimum_holds_and_a_fixed_scale_never_moves() {
        assert_eq!(run(scale(Dynamic { minimum: Some(100.0), ..Dynamic::default() }), "oo"), [100.0, 100.0]);
        assert_eq!(run(LossScale::fixed(3.0).unwrap(), "coc"), [3.0, 3.0, 3.0]);
    }

    #[test]
    fn useless_settings_are_refused() {
        let d = Dynamic::default();
        let bad = [
            Dynamic { initial: f64::INFINITY, ..d },
            Dynamic { growth_factor: 0.5, ..d },
            Dynamic { backoff_factor: 0.0, ..d },
            Dynamic { growth_interval: 0, ..d },
            Dynamic { hysteresis: 0, ..d },
            Dynamic { minimum: Some(70000.0), ..d },
            Dynamic { maximum: Some(1.0), ..d },
        ];
        assert!(bad.into_iter().all(|settings| LossScale::dynamic(settings).is_err()));
        assert!(LossScale::fixed(0.0).is_err() && LossScale::fixed(f64::NAN).is_err());
        assert!(LossScale::dynamic(d).is_ok());
    }

    #[test]
    fn a_restored_state_goes_on_from_there() {
        let mut s = scale(Dynamic { growth_interval: 3, ..Dynamic::default() });
        s.restore(32.0, 2, 1, false);
        assert_eq!(s.after_clean(), Decision { before: 32.0, after: 64.0 });
        assert_eq!((s.tracker(), s.hysteresis_left()), (0, 1));
    }
}

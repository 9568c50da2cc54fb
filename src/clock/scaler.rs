//! The dynamic loss scale as a state machine (MANIFEST.md §7).
//!
//! It is kept as the set of states in which the scaler can be: one where everything was declared or recorded from the
//! start, several where a resumed or unobserved run leaves a counter open. A recorded scale narrows the set; only a
//! scale that no state explains is a fault.
//!
//! Sources: torch.amp.GradScaler (PyTorch 2.6), Megatron-LM `DynamicGradScaler` (hysteresis refilled on growth),
//! DeepSpeed `DynamicLossScaler` (`consecutive_hysteresis`: refilled on every clean window) and
//! `FP16_UnfusedOptimizer` (one clean window more before the first growth after an overflow: `growth_delay` 1).
use crate::manifest::contract::LossScale;
use crate::manifest::contract::Refill;

/// Scales are stored in binary32 by every scaler known, so they agree to its rounding at best.
const BINARY32: f64 = 1e-6;

/// How many states are told apart before the scaler counts as unknown.
const STATES: usize = 64;

/// One state; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ScalerState {
    /// S.
    pub(super) scale: Option<f64>,
    /// Clean windows since the scale last changed.
    pub(super) tracker: Option<u64>,
    /// Overflows left before the scale backs off.
    pub(super) hysteresis: Option<u64>,
    /// Whether the delay of the first growth is still to be waited out.
    pub(super) delay: Option<bool>,
}

/// The declared policy with the states that are possible now.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scaler {
    policy: LossScale,
    tolerance: f64,
    possible: Vec<ScalerState>,
}

impl Scaler {
    /// At the start of training.
    pub(super) fn new(policy: LossScale, relative: f64) -> Self {
        let state = match policy {
            LossScale::Static { value } => ScalerState { scale: Some(value.get()), ..ScalerState::default() },
            LossScale::Dynamic { initial, hysteresis, .. } => ScalerState {
                scale: Some(initial.get()),
                tracker: Some(0),
                hysteresis: Some(hysteresis.get()),
                delay: Some(true),
            },
        };
        Scaler { policy, tolerance: relative.max(BINARY32), possible: vec![state] }
    }

    /// Takes a state from outside: a restore, a resume, or nothing known.
    pub(super) fn set(&mut self, state: ScalerState) {
        if matches!(self.policy, LossScale::Dynamic { .. }) {
            self.possible = vec![state];
        }
    }

    /// The state, as far as all possible ones agree.
    pub(super) fn state(&self) -> ScalerState {
        let first = self.possible.first().copied().unwrap_or_default();
        let agree = |same: fn(&ScalerState, &ScalerState) -> bool| self.possible.iter().all(|s| same(s, &first));
        ScalerState {
            scale: first.scale.filter(|_| agree(|a, b| a.scale == b.scale)),
            tracker: first.tracker.filter(|_| agree(|a, b| a.tracker == b.tracker)),
            hysteresis: first.hysteresis.filter(|_| agree(|a, b| a.hysteresis == b.hysteresis)),
            delay: first.delay.filter(|_| agree(|a, b| a.delay == b.delay)),
        }
    }

    /// Whether two scales are the same number.
    pub(super) fn same(&self, recorded: f64, reference: f64) -> bool {
        (recorded - reference).abs() <= self.tolerance * reference.abs()
    }

    /// A window was stepped or skipped.
    pub(super) fn advance(&mut self, overflow: bool) {
        let mut next: Vec<ScalerState> = Vec::new();
        for state in &self.possible {
            for state in successors(&self.policy, *state, overflow) {
                if !next.contains(&state) {
                    next.push(state);
                }
            }
        }
        if next.len() > STATES {
            next = vec![ScalerState::default()];
        }
        self.possible = next;
    }

    /// S was recorded. Gives the scales that the policy allows where this is none of them; the clock then goes on from
    /// the recorded one, so that one fault is found once.
    pub(super) fn sight(&mut self, recorded: f64) -> Option<Vec<f64>> {
        let fits = |state: &ScalerState| state.scale.is_none_or(|scale| self.same(recorded, scale));
        let fitting: Vec<ScalerState> = self.possible.iter().filter(|state| fits(state)).copied().collect();
        if !fitting.is_empty() {
            self.possible = fitting.into_iter().map(|s| ScalerState { scale: Some(recorded), ..s }).collect();
            if let LossScale::Static { value } = self.policy {
                self.possible = vec![ScalerState { scale: Some(value.get()), ..ScalerState::default() }];
            }
            return None;
        }
        let expected = self.possible.iter().filter_map(|state| state.scale).collect();
        self.set(ScalerState { scale: Some(recorded), ..ScalerState::default() });
        Some(expected)
    }
}

/// The states that may follow.
fn successors(policy: &LossScale, state: ScalerState, overflow: bool) -> Vec<ScalerState> {
    match (policy, overflow) {
        (LossScale::Static { .. }, _) => vec![state],
        (LossScale::Dynamic { .. }, false) => after_clean(policy, state),
        (LossScale::Dynamic { .. }, true) => after_overflow(policy, state),
    }
}

fn after_clean(policy: &LossScale, state: ScalerState) -> Vec<ScalerState> {
    let &LossScale::Dynamic {
        growth_factor,
        growth_interval,
        growth_delay,
        hysteresis,
        hysteresis_refill,
        maximum,
        ..
    } = policy
    else {
        return vec![state];
    };
    let full = Some(hysteresis.get());
    let refilled = if hysteresis_refill == Refill::Clean { full } else { state.hysteresis };
    let stays = ScalerState { tracker: state.tracker.map(|t| t.saturating_add(1)), hysteresis: refilled, ..state };
    let grown = state.scale.map(|scale| {
        let grown = scale * growth_factor.get();
        maximum.map_or(grown, |maximum| grown.min(maximum.get()))
    });
    let grows = ScalerState { scale: grown, tracker: Some(0), hysteresis: full, delay: Some(false) };
    let (soonest, latest) = match state.delay {
        Some(false) => (0, 0),
        Some(true) => (growth_delay.get(), growth_delay.get()),
        None => (0, growth_delay.get()),
    };
    let due = |delay: u64| stays.tracker.map(|t| t >= growth_interval.get().saturating_add(delay));
    match (due(soonest), due(latest)) {
        (Some(false), Some(false)) => vec![stays],
        (Some(true), Some(true)) => vec![grows],
        _ => vec![stays, grows],
    }
}

fn after_overflow(policy: &LossScale, state: ScalerState) -> Vec<ScalerState> {
    let &LossScale::Dynamic { backoff_factor, hysteresis, minimum, .. } = policy else { return vec![state] };
    let left = state.hysteresis.map(|left| left.saturating_sub(1));
    let reset = ScalerState { tracker: Some(0), hysteresis: left, delay: Some(true), ..state };
    let backed_off = state.scale.map(|scale| {
        let lower = scale * backoff_factor.get();
        minimum.map_or(lower, |minimum| lower.max(minimum.get()))
    });
    let backs_off = ScalerState { scale: backed_off, hysteresis: Some(0), ..reset };
    match left {
        Some(0) => vec![backs_off],
        Some(_) => vec![reset],
        None if hysteresis.get() <= 1 => vec![backs_off],
        None => vec![reset, backs_off],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use serde_json::json;

    fn scaler(with: Value) -> Scaler {
        let mut policy = json!({"policy": "dynamic", "initial": 1024, "growth_factor": 2, "backoff_factor": 0.5,
            "growth_interval": 3});
        let (Value::Object(declared), Value::Object(with)) = (&mut policy, with) else { panic!("two objects") };
        declared.extend(with);
        Scaler::new(serde_json::from_value(policy).expect("a policy"), 0.0)
    }

    /// Scales after each window of a history: `.` clean, `x` overflow.
    fn scales(mut scaler: Scaler, history: &str) -> Vec<f64> {
        let after = |window| {
            scaler.advance(window == 'x');
            assert_eq!(scaler.possible.len(), 1, "a known state has one successor");
            scaler.state().scale.expect("known")
        };
        history.chars().map(after).collect()
    }

    #[test]
    fn follows_every_policy() {
        // torch.amp.GradScaler: growth after three clean windows in a row, the tracker restarts at growth and overflow.
        assert_eq!(scales(scaler(json!({})), "...."), [1024.0, 1024.0, 2048.0, 2048.0]);
        assert_eq!(scales(scaler(json!({})), "..x..."), [1024.0, 1024.0, 512.0, 512.0, 512.0, 1024.0]);
        assert_eq!(scales(scaler(json!({})), "xx"), [512.0, 256.0]);
        // Bounds; at the maximum the tracker restarts all the same.
        assert_eq!(scales(scaler(json!({"minimum": 700})), "xx"), [700.0, 700.0]);
        assert_eq!(
            scales(scaler(json!({"maximum": 1500})), "......"),
            [1024.0, 1024.0, 1500.0, 1500.0, 1500.0, 1500.0]
        );
        // DeepSpeed: one clean window more before the first growth after the start or an overflow, not between growths.
        let delay = json!({"growth_delay": 1});
        assert_eq!(
            scales(scaler(delay), "......." /* 3+1, then 3 */),
            [1024.0, 1024.0, 1024.0, 2048.0, 2048.0, 2048.0, 4096.0]
        );
        assert_eq!(scales(scaler(json!({"growth_delay": 1})), "x....")[1..], [512.0, 512.0, 512.0, 1024.0]);
        // Megatron: two overflows before the scale backs off, then every one, until growth refills.
        let hysteresis = json!({"hysteresis": 2});
        assert_eq!(scales(scaler(hysteresis.clone()), "x.xx"), [1024.0, 1024.0, 512.0, 256.0]);
        assert_eq!(scales(scaler(hysteresis), "xx...xx"), [1024.0, 512.0, 512.0, 512.0, 1024.0, 1024.0, 512.0]);
        // DeepSpeed's consecutive hysteresis: any clean window refills.
        let clean = json!({"hysteresis": 2, "hysteresis_refill": "clean"});
        assert_eq!(scales(scaler(clean), "x.x.xx"), [1024.0, 1024.0, 1024.0, 1024.0, 1024.0, 512.0]);
    }

    #[test]
    fn an_unknown_tracker_allows_both_until_a_scale_tells() {
        let mut scaler = scaler(json!({}));
        scaler.set(ScalerState { scale: Some(64.0), ..ScalerState::default() });
        scaler.advance(false);
        assert_eq!(scaler.state().scale, None);
        assert_eq!(scaler.state().hysteresis, None, "full if it grew");
        assert_eq!(scaler.sight(128.0), None);
        assert_eq!(scaler.state().hysteresis, Some(1));
        assert_eq!(scaler.state().tracker, Some(0));
        scaler.advance(false);
        assert_eq!(scaler.sight(256.0), Some(vec![128.0]));
    }

    #[test]
    fn a_strange_scale_is_found_once() {
        let mut scaler = scaler(json!({}));
        scaler.advance(false);
        assert_eq!(scaler.sight(512.0), Some(vec![1024.0]));
        scaler.advance(false);
        assert_eq!(scaler.sight(512.0), None);
        scaler.advance(true);
        assert_eq!(scaler.sight(512.0), Some(vec![256.0]));
    }

    #[test]
    fn a_static_scale_never_moves() {
        let policy = serde_json::from_value(json!({"policy": "static", "value": 128})).expect("a policy");
        let mut scaler = Scaler::new(policy, 0.0);
        for overflow in [false, true, false] {
            scaler.advance(overflow);
            assert_eq!(scaler.sight(128.0), None);
            assert_eq!(scaler.sight(64.0), Some(vec![128.0]));
        }
    }

    #[test]
    fn the_set_of_states_stays_small() {
        let mut scaler = scaler(json!({"hysteresis": 3, "growth_delay": 2}));
        scaler.set(ScalerState::default());
        for window in 0..10_000 {
            scaler.advance(window % 7 == 0);
            assert!(scaler.possible.len() <= STATES);
        }
    }
}

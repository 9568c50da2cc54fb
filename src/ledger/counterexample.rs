//! The counterexample that every receipt holds: a window whose mean of means is not its token mean.
use super::window::WindowLedger;
use crate::canonical::Count;
use crate::canonical::Finite;
use crate::numeric::quotient;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// Targets of the frozen window.
const FROZEN_TARGETS: [u64; 3] = [3, 6, 1];
/// Its loss sums, in nats.
const FROZEN_LOSSES: [f64; 3] = [1.2, 4.8, 0.4];

/// Microbatches of a counterexample that are shown one by one.
const SHOWN: usize = 64;

/// The window of a run with the largest relative drift, and that drift.
#[derive(Clone, Debug, Default)]
pub struct Counterexample {
    worst: Option<(f64, CounterexampleReport)>,
}

/// The receipt's `counterexample`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CounterexampleReport {
    /// The window of the run; `null` for the frozen one.
    pub window: Option<Count>,
    /// n of its microbatches by rank and backward, at most 64 of them.
    pub valid_targets: Vec<Count>,
    /// Their loss sums, in nats.
    pub loss_sums: Vec<Finite>,
    /// L/N, in nats per target.
    pub loss: Finite,
    /// The mean of microbatch means, in nats per target.
    pub mean_of_means: Finite,
    /// Their distance, in nats per target.
    pub absolute_drift: Finite,
    /// The same over |token mean|; `null` for a loss of 0.
    pub relative_drift: Option<Finite>,
}

impl Counterexample {
    /// Takes in a window; the first among equals is kept.
    pub fn add(&mut self, ledger: &WindowLedger) {
        let Some((means, token_mean)) = ledger.mean_of_means.zip(ledger.token_mean) else { return };
        let Some(drift) = means.relative_drift.filter(|&drift| drift > 0.0) else { return };
        if self.worst.as_ref().is_some_and(|(worst, _)| drift <= *worst) {
            return;
        }
        let shown = || ledger.microbatches.iter().take(SHOWN);
        let report = || {
            Some(CounterexampleReport {
                window: Some(Count::new(ledger.window).ok()?),
                valid_targets: shown().map(|m| Count::new(m.valid_targets).ok()).collect::<Option<_>>()?,
                loss_sums: shown().map(|m| Finite::new(m.loss_sum?).ok()).collect::<Option<_>>()?,
                loss: Finite::new(token_mean).ok()?,
                mean_of_means: Finite::new(means.loss).ok()?,
                absolute_drift: Finite::new(means.absolute_drift).ok()?,
                relative_drift: Finite::new(drift).ok(),
            })
        };
        if let Some(report) = report() {
            self.worst = Some((drift, report));
        }
    }

    /// The run's own; the frozen one where the run is a control or shows no drift.
    pub fn report(self, control: bool) -> CounterexampleReport {
        self.worst.filter(|_| !control).map_or_else(frozen, |(_, report)| report)
    }
}

/// Targets 3, 6 and 1 with loss sums 1.2, 4.8 and 0.4: 0.64, and not 0.5333….
pub fn frozen() -> CounterexampleReport {
    let targets: u64 = FROZEN_TARGETS.iter().sum();
    let sum: crate::numeric::exact::ExactSum = FROZEN_LOSSES.into_iter().collect();
    let token_mean = sum.over(targets);
    let means = quotient::mean_of_means(FROZEN_LOSSES.into_iter().zip(FROZEN_TARGETS));
    let means = means.expect("bug: a frozen microbatch without targets");
    let finite = |value| Finite::new(value).expect("bug: a frozen number is not finite");
    let absolute_drift = (means - token_mean).abs();
    CounterexampleReport {
        window: None,
        valid_targets: FROZEN_TARGETS.map(|n| Count::new(n).expect("bug: a small number is a count")).to_vec(),
        loss_sums: FROZEN_LOSSES.map(finite).to_vec(),
        loss: finite(token_mean),
        mean_of_means: finite(means),
        absolute_drift: finite(absolute_drift),
        relative_drift: Some(finite(absolute_drift / token_mean)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::sample::Run;
    use crate::ledger::sample::backward;
    use crate::ledger::sample::contract;
    use crate::ledger::sample::step;
    use serde_json::json;

    #[test]
    fn the_frozen_window_is_the_example() {
        let frozen = frozen();
        assert_eq!((frozen.loss.get(), frozen.mean_of_means.get()), (0.64, 0.533_333_333_333_333_3));
        assert!((frozen.absolute_drift.get() - 0.106_666_666_666_666_67).abs() < 1e-15);
        assert_eq!(frozen.window, None);
    }

    #[test]
    fn the_window_with_the_largest_drift_is_kept() {
        let mut events = Vec::new();
        for (window, targets) in [(0, [2, 2]), (1, [1, 3]), (2, [1, 5]), (3, [5, 1])] {
            events.push(backward(window, &format!("w{window}a"), targets[0], 1.0, json!({})));
            events.push(backward(window, &format!("w{window}b"), targets[1], 1.0, json!({})));
            events.push(step(window));
        }
        let run = Run::new(contract(json!({"accumulation_steps": 2})), vec![events]);
        let mut counterexample = Counterexample::default();
        run.tallied().iter().for_each(|(_, ledger)| counterexample.add(ledger));
        let report = counterexample.clone().report(false);
        assert_eq!(report.window.map(Count::get), Some(2));
        assert_eq!(report.mean_of_means.get(), (1.0 + 0.2) / 2.0);
        assert_eq!(counterexample.report(true), frozen());
    }
}

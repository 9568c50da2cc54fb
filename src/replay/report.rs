//! The receipt's `replay`.
use super::choice::Plan;
use super::drift::Drift;
use super::recomputation::Recomputation;
use super::trace::Counterexample;
use super::trace::GradientTrace;
use super::trace::RecipeTrace;
use super::trace::Trace;
use super::trace::WindowTrace;
use crate::autograd::parameters::Named;
use crate::canonical::Count;
use crate::canonical::Finite;
use crate::manifest::contract::Contract;
use crate::manifest::event::Outcome;
use crate::manifest::replay::ReplayOptions;
use crate::numeric::rounding::Arithmetic;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// What executing the recorded events on the embedded decoder came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayReport {
    /// The decoder and its rows.
    pub model: ReplayOptions,
    /// P: the decoder's scalars; 0 where it could not be built.
    pub parameters: Count,
    /// Emulated arithmetic of forward and backward.
    pub precision: Arithmetic,
    /// Windows of the run that could have been judged.
    pub windows_eligible: Count,
    /// Windows that were.
    pub windows_judged: Count,
    /// Windows that were not the full batch's update.
    pub windows_off: Count,
    /// Targets of all windows that were executed, once.
    pub targets: Count,
    /// Windows that were not executed, by why.
    pub not_replayed: Vec<NotReplayed>,
    /// The window whose gradient is furthest off relative to the full batch's, or, where each agrees, as a multiple of what
    /// is allowed.
    pub worst: Option<ReplayedWindow>,
    /// By window; null at `--detail summary`.
    pub windows: Option<Vec<ReplayedWindow>>,
    /// The run without being set to the full batch's state before every window.
    pub cumulative: Option<CumulativeReport>,
    /// Known wrong recipes on this run's windows, each where its gradient drifts most.
    pub counterexamples: Vec<CounterexampleRun>,
    /// Whether a mean of means gives every microbatch its declared weight, in every judged window: then its drift is a
    /// control, 0 up to rounding.
    pub control: bool,
    /// Whether every window made the full batch's update, and whatever was run again came out the same.
    pub agrees: bool,
    /// Where blocks are recomputed: what that retains and replays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recomputation: Option<Recomputation>,
}

/// Windows that were not executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotReplayed {
    /// Why.
    pub reason: String,
    /// How many.
    pub windows: Count,
}

/// One window of the run beside the full batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayedWindow {
    /// The window.
    pub window: Count,
    /// N.
    pub valid_targets: Count,
    /// What became of it.
    pub outcome: Outcome,
    /// Whether it made the full batch's update.
    pub agrees: bool,
    /// Whether the decoder's own gradient overflowed, so that nothing was compared.
    pub overflowed: bool,
    /// Whether weights, moments and step count are bit for bit what they were before.
    pub held: bool,
    /// The rank that is furthest off; null where no gradient was consumed.
    pub rank: Option<Count>,
    /// The gradient that the optimizer consumed; this is judged.
    pub gradient: Option<DriftReport>,
    /// The same before clipping.
    pub unscaled_gradient: Option<DriftReport>,
    /// The same before the loss scale was divided out.
    pub scaled_gradient: Option<DriftReport>,
    /// Its norm before clipping.
    pub gradient_norm: Option<Beside>,
    /// L2 distance of the consumed gradient up to which run and reference agree: the tolerance and the floor together.
    pub allowed: Option<Finite>,
    /// L2 distance of the declared accumulation from the full batch: what reordering its additions does.
    pub floor: Option<Finite>,
    /// The weights afterwards.
    pub weights: DriftReport,
    /// The optimizer's moments afterwards: AdamW's first and second, or momentum.
    pub moments: Vec<DriftReport>,
    /// Steps that moved the weights.
    pub steps: CountBeside,
    /// The learning rate.
    pub learning_rate: Option<Beside>,
    /// The loss scale afterwards, where it was recorded.
    pub loss_scale: Option<Beside>,
    /// The largest L2 distance of a rank's weights from rank 0's; null on one rank.
    pub ranks_apart: Option<Finite>,
    /// What a mean of means would have made of the window.
    pub mean_of_means: Option<RecipeDrift>,
}

/// A number of the run and the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// The run's.
    pub run: Finite,
    /// The reference's.
    pub reference: Finite,
}

/// A count of the run and the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountBeside {
    /// The run's.
    pub run: Count,
    /// The reference's.
    pub reference: Count,
}

/// A vector against the reference's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriftReport {
    /// ‖run − reference‖₂; null where it is not finite.
    pub l2: Option<Finite>,
    /// The same over ‖reference‖₂; null for a reference of 0.
    pub relative: Option<Finite>,
    /// Cosine of the angle between them; null where one is 0.
    pub cosine: Option<Finite>,
    /// The largest absolute difference of an element.
    pub maximum_absolute: Option<Finite>,
    /// The largest difference of an element over the reference's.
    pub maximum_relative: Option<Finite>,
    /// The tensor with the largest absolute difference.
    pub tensor: String,
    /// The element of it, row after row from 0.
    pub element: Count,
}

/// A recipe's drift.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecipeDrift {
    /// Of the consumed gradient: ‖recipe − reference‖₂/‖reference‖₂.
    pub gradient: Option<Finite>,
    /// Cosine of the angle between the two gradients.
    pub cosine: Option<Finite>,
    /// Of the weights afterwards: ‖recipe − reference‖₂/‖reference‖₂.
    pub weights: Option<Finite>,
}

/// A recipe that was executed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CounterexampleRun {
    /// Its name.
    pub recipe: String,
    /// The window in which its gradient drifts most.
    pub window: Count,
    /// Of the consumed gradient: ‖recipe − reference‖₂/‖reference‖₂.
    pub gradient: Option<Finite>,
    /// Cosine of the angle between the two gradients.
    pub cosine: Option<Finite>,
    /// Of the weights afterwards: ‖recipe − reference‖₂/‖reference‖₂.
    pub weights: Option<Finite>,
}

/// How far the run's weights are from the full batch's at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CumulativeReport {
    /// The rank that is furthest off.
    pub rank: Count,
    /// Its weights.
    pub weights: DriftReport,
    /// The largest L2 distance of a rank's weights from rank 0's; null on one rank.
    pub ranks_apart: Option<Finite>,
}

/// What a report says beside the trace.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// What was declared.
    pub contract: &'a Contract,
    /// The decoder and its rows.
    pub model: &'a ReplayOptions,
    /// Whether every window is listed.
    pub lists_windows: bool,
}

/// Why a window is not among those that were judged (GA703).
const REFUSED: &str = "something that was run again did not come out with the same bits";

impl ReplayReport {
    /// Of a replay that was executed.
    pub fn of(about: About<'_>, plan: &Plan, trace: &Trace, tensors: &[Named]) -> Self {
        let report = |window: &WindowTrace| replayed(window, tensors);
        let judged = trace.windows.len() as u64;
        let worst = trace.windows.iter().filter(|window| window.gradient.is_some() && !window.overflowed);
        let worst = worst.reduce(|worst, window| if distance(window) > distance(worst) { window } else { worst });
        let chosen = plan.windows.iter().filter(|planned| planned.is_judged).count() as u64;
        let (left, refused) = (plan.eligible.saturating_sub(chosen), chosen - judged);
        let refused = NotReplayed { reason: REFUSED.to_owned(), windows: count(refused) };
        let beyond = NotReplayed { reason: "the budget of targets did not reach".to_owned(), windows: count(left) };
        let obstacles = plan.obstacles.iter();
        let obstacles =
            obstacles.map(|(why, &windows)| NotReplayed { reason: why.as_str().to_owned(), windows: count(windows) });
        ReplayReport {
            parameters: count(trace.parameters as u64),
            windows_eligible: count(plan.eligible),
            windows_judged: count(judged),
            windows_off: count(trace.windows.iter().filter(|window| !window.agrees()).count() as u64),
            targets: count(trace.targets),
            not_replayed: obstacles.chain([beyond, refused]).filter(|not| not.windows > Count::ZERO).collect(),
            worst: worst.map(report),
            windows: about.lists_windows.then(|| trace.windows.iter().map(report).collect()),
            cumulative: trace.cumulative.as_ref().map(|cumulative| CumulativeReport {
                rank: count(cumulative.rank as u64),
                weights: drift(&cumulative.weights, tensors),
                ranks_apart: cumulative.ranks_apart.and_then(finite),
            }),
            counterexamples: trace.counterexamples.iter().map(counterexample).collect(),
            control: judged > 0 && trace.windows.iter().all(|window| window.is_control),
            agrees: trace.mismatches.is_empty() && trace.windows.iter().all(WindowTrace::agrees),
            ..ReplayReport::blank(about)
        }
    }

    /// Of a replay that could not be.
    pub fn refused(about: About<'_>, plan: &Plan, reason: String) -> Self {
        let not_replayed = vec![NotReplayed { reason, windows: count(plan.eligible) }];
        ReplayReport { windows_eligible: count(plan.eligible), not_replayed, ..ReplayReport::blank(about) }
    }

    fn blank(about: About<'_>) -> Self {
        ReplayReport {
            model: about.model.clone(),
            parameters: Count::ZERO,
            precision: about.contract.precision,
            windows_eligible: Count::ZERO,
            windows_judged: Count::ZERO,
            windows_off: Count::ZERO,
            targets: Count::ZERO,
            not_replayed: Vec::new(),
            worst: None,
            windows: about.lists_windows.then(Vec::new),
            cumulative: None,
            counterexamples: Vec::new(),
            control: false,
            agrees: true,
            recomputation: None,
        }
    }
}

/// By what the worst window is found: one that is off by how far, as GA701 says it, and any other by how much of what is
/// allowed it takes.
fn distance(window: &WindowTrace) -> (Option<f64>, f64) {
    let off = window.gradient.map_or(0.0, |gradient| gradient.consumed.l2);
    (window.off(), if off == 0.0 { 0.0 } else { off / window.allowed })
}

fn replayed(window: &WindowTrace, tensors: &[Named]) -> ReplayedWindow {
    let shown = window.gradient.as_ref();
    let of = |part: fn(&GradientTrace) -> &Drift| shown.map(|gradient| drift(part(gradient), tensors));
    ReplayedWindow {
        window: count(window.window),
        valid_targets: count(window.targets),
        outcome: window.outcome,
        agrees: window.agrees(),
        overflowed: window.overflowed,
        held: window.held,
        rank: shown.map(|gradient| count(gradient.rank as u64)),
        gradient: of(|gradient| &gradient.consumed),
        unscaled_gradient: of(|gradient| &gradient.unscaled),
        scaled_gradient: of(|gradient| &gradient.scaled),
        gradient_norm: shown.and_then(|gradient| beside(gradient.norm)),
        allowed: finite(window.allowed),
        floor: window.floor.and_then(finite),
        weights: drift(&window.weights, tensors),
        moments: window.moments.iter().map(|moment| drift(moment, tensors)).collect(),
        steps: CountBeside { run: count(window.steps[0]), reference: count(window.steps[1]) },
        learning_rate: window.learning_rate.and_then(beside),
        loss_scale: window.scale.and_then(|scale| beside([scale.run, scale.reference])),
        ranks_apart: window.ranks_apart.and_then(finite),
        mean_of_means: window.mean_of_means.as_ref().map(recipe),
    }
}

fn counterexample(counterexample: &Counterexample) -> CounterexampleRun {
    let RecipeDrift { gradient, cosine, weights } = recipe(&counterexample.drift);
    CounterexampleRun {
        recipe: counterexample.recipe.name().to_owned(),
        window: count(counterexample.window),
        gradient,
        cosine,
        weights,
    }
}

fn recipe(drift: &RecipeTrace) -> RecipeDrift {
    RecipeDrift {
        gradient: drift.gradient.relative().and_then(finite),
        cosine: drift.gradient.cosine.and_then(finite),
        weights: drift.weights.relative().and_then(finite),
    }
}

fn drift(drift: &Drift, tensors: &[Named]) -> DriftReport {
    let tensor = tensors.iter().find(|tensor| tensor.span.contains(&drift.element));
    DriftReport {
        l2: finite(drift.l2),
        relative: drift.relative().and_then(finite),
        cosine: drift.cosine.and_then(finite),
        maximum_absolute: finite(drift.maximum_absolute),
        maximum_relative: finite(drift.maximum_relative),
        tensor: tensor.map_or_else(String::new, |tensor| tensor.name.clone()),
        element: count((drift.element - tensor.map_or(0, |tensor| tensor.span.start)) as u64),
    }
}

fn beside([run, reference]: [f64; 2]) -> Option<Beside> {
    Some(Beside { run: finite(run)?, reference: finite(reference)? })
}

fn count(value: u64) -> Count {
    Count::saturating(value)
}

fn finite(value: f64) -> Option<Finite> {
    Finite::new(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(l2: f64, allowed: f64) -> WindowTrace {
        let drift = Drift { l2, ..Drift::between(&[1.0], &[1.0]) };
        let gradient = GradientTrace { rank: 0, scaled: drift, unscaled: drift, consumed: drift, norm: [1.0; 2] };
        WindowTrace {
            window: 0,
            place: None,
            targets: 9,
            outcome: Outcome::Applied,
            gradient: Some(gradient),
            allowed,
            floor: None,
            weights: drift,
            moments: vec![],
            steps: [1, 1],
            learning_rate: None,
            scale: None,
            ranks_apart: None,
            mean_of_means: None,
            is_control: false,
            overflowed: false,
            held: false,
        }
    }

    #[test]
    fn the_worst_window_is_furthest_off_or_nearest_to_what_is_allowed() {
        // Of those that are off, the one with the larger part of the reference, which is 1 here, counts.
        assert_eq!(distance(&window(0.5, 0.25)), (Some(0.5), 2.0));
        assert!(distance(&window(0.75, 0.5)) > distance(&window(0.5, 0.25)));
        assert!(distance(&window(0.5, 0.25)) > distance(&window(5.0, 10.0)), "one that is off before one that is not");
        assert!(distance(&window(0.9, 1.0)) > distance(&window(5.0, 10.0)));
        assert_eq!(distance(&window(0.0, 0.0)), (None, 0.0), "nothing off is no excess where nothing is allowed");
        assert_eq!(distance(&WindowTrace { gradient: None, ..window(0.5, 0.25) }), (None, 0.0));
    }
}

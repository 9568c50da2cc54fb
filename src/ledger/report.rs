//! What the receipt says of a window's arithmetic: plain data, every number finite and every count safe.
use super::delta::Delta;
use super::microbatch::Microbatch;
use super::window::WindowLedger;
use crate::canonical::Count;
use crate::canonical::Finite;
use crate::manifest::event::Event;
use crate::manifest::event::Vector;
use crate::manifest::identifier::Identifier;
use crate::manifest::limits::COUNT;
use crate::manifest::window::Window;
use crate::numeric::rounding::Explanation;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// The arithmetic part of an entry of the receipt's `windows`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowReport {
    /// The window.
    pub window: Count,
    /// Over all ranks, carried-in ones included.
    pub microbatches: Count,
    /// N.
    pub valid_targets: Count,
    /// L, rounded once, in nats; of the finite microbatches.
    pub loss_sum: Option<Finite>,
    /// Σ f·loss_sum / c under the declared formula; `null` where a microbatch is nonfinite or f is not known.
    pub loss: Option<Finite>,
    /// Σ f·gradient_sum / c under the declared formula. \[D\]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient: Option<Vec<Finite>>,
    /// The window as one batch: L/N and ΣG/N.
    pub full_batch: View,
    /// The window as it was accumulated: with the weights seen.
    pub accumulated: View,
    /// The mean of microbatch means; `null` where a microbatch has no target or is nonfinite.
    pub mean_of_means: Option<MeanOfMeansReport>,
    /// What was claimed and could be compared, in order of rank and event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deltas: Vec<DeltaReport>,
    /// Whether all that was compared agrees within tolerance.
    pub agrees: bool,
}

/// A loss and a gradient.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// In nats per target; `null` where it is not known.
    pub loss: Option<Finite>,
    /// \[D\]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient: Option<Vec<Finite>>,
}

/// A mean of microbatch means beside the token mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeanOfMeansReport {
    /// In nats per target.
    pub loss: Finite,
    /// \[D\]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient: Option<Vec<Finite>>,
    /// |loss − L/N|.
    pub absolute_drift: Finite,
    /// The same over |L/N|; `null` for a loss of 0 that it is not.
    pub relative_drift: Option<Finite>,
}

/// A recorded number beside what the declared formula gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeltaReport {
    /// What was compared: a field of the manifest.
    pub field: Compared,
    /// The rank that recorded it.
    pub rank: Count,
    /// The event that holds it, or that the worst is in; `null` where that was carried in.
    pub event: Option<Count>,
    /// The recorded number.
    pub recorded: Finite,
    /// What the declared formula gives.
    pub expected: Finite,
    /// Whether they agree within tolerance.
    pub agrees: bool,
    /// What the difference is, beyond tolerance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

/// What a delta compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Compared {
    /// The weighted loss that was differentiated, of the microbatch that is furthest off.
    #[serde(rename = "backward_loss")]
    BackwardLoss,
    /// The logged loss.
    #[serde(rename = "logged.loss")]
    Loss,
    /// The logged denominator.
    #[serde(rename = "logged.denominator")]
    Denominator,
    /// The element of the logged gradient that is furthest off.
    #[serde(rename = "logged.gradient")]
    Gradient,
    /// The logged norm.
    #[serde(rename = "logged.grad_norm")]
    GradNorm,
    /// The clipped norm, against the gradient's or the logged one.
    #[serde(rename = "clip.norm")]
    ClipNorm,
    /// The element of the first buffer that is off.
    #[serde(rename = "accumulated")]
    Accumulated,
}

/// An entry of the receipt's `microbatches`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MicrobatchReport {
    /// Its name.
    pub microbatch: Identifier,
    /// Its window.
    pub window: Count,
    /// Its rank.
    pub rank: Count,
    /// Index among the rank's microbatches of the window, carried ones included.
    pub backward_index: Count,
    /// n.
    pub valid_targets: Count,
    /// In nats; `null` where it is nonfinite.
    pub loss_sum: Option<Finite>,
    /// The weight seen, after every later rescale; `null` where it was not recorded or there was no loss.
    pub weight: Option<Finite>,
    /// Whether its backward really all-reduced, where that was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<bool>,
    /// \[D\]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient_sum: Option<Vector>,
}

impl WindowLedger {
    /// What the receipt says of the window.
    pub fn report(&self) -> WindowReport {
        let gradients = self.gradients.as_ref();
        let declared = gradients.and_then(|gradients| gradients.declared.as_deref());
        let mean_of_means = self.mean_of_means.and_then(|means| {
            Some(MeanOfMeansReport {
                loss: finite(means.loss)?,
                gradient: vector(gradients.and_then(|gradients| gradients.mean_of_means.as_deref())),
                absolute_drift: finite(means.absolute_drift)?,
                relative_drift: means.relative_drift.and_then(finite),
            })
        });
        let deltas = self.deltas();
        WindowReport {
            window: count(self.window),
            microbatches: count(self.microbatches.len() as u64),
            valid_targets: count(self.counts.valid_targets),
            loss_sum: finite(self.loss_sum.to_f64()),
            loss: self.loss.and_then(finite),
            gradient: vector(declared),
            full_batch: View {
                loss: self.token_mean.and_then(finite),
                gradient: vector(gradients.map(|gradients| &gradients.token_mean[..])),
            },
            accumulated: View {
                loss: self.accumulated_loss().and_then(finite),
                gradient: vector(gradients.and_then(|gradients| gradients.seen.as_deref())),
            },
            mean_of_means,
            agrees: deltas.iter().all(|delta| delta.agrees) && self.weights.off == 0,
            deltas,
        }
    }

    /// Σ of what was differentiated / c, in nats; `None` where it was not recorded of every microbatch.
    fn accumulated_loss(&self) -> Option<f64> {
        let differentiated = |microbatch: &Microbatch| microbatch.differentiated;
        let terms: Option<Vec<f64>> = self.microbatches.iter().map(differentiated).collect();
        let sum: crate::numeric::exact::ExactSum = terms?.into_iter().collect();
        Some(sum.over(self.counts.reduction.max(1)))
    }

    /// All that was compared, in order of rank and event.
    fn deltas(&self) -> Vec<DeltaReport> {
        let mut deltas = Vec::new();
        if let Some(worst) = self.weights.worst.filter(|_| self.stepped_or_skipped()) {
            let microbatch = &self.microbatches[worst.microbatch];
            let event = microbatch.source.map(|source| source.event);
            let explanation = self.weights.explanation;
            let delta = Delta { recorded: worst.differentiated, expected: worst.expected, explanation };
            deltas.extend(delta_report(Compared::BackwardLoss, microbatch.rank, event, Some(delta)));
        }
        for claim in &self.claims {
            let gradient = claim.gradient.map(|gradient| gradient.delta);
            for (field, delta) in [
                (Compared::Loss, claim.loss),
                (Compared::Denominator, claim.denominator),
                (Compared::Gradient, gradient),
                (Compared::GradNorm, claim.grad_norm),
            ] {
                deltas.extend(delta_report(field, claim.rank, Some(claim.event), delta));
            }
        }
        for clip in &self.clips {
            for delta in [clip.gradient, clip.logged] {
                deltas.extend(delta_report(Compared::ClipNorm, clip.rank, Some(clip.event), delta));
            }
        }
        if let Some(drift) = self.drift {
            let microbatch = &self.microbatches[drift.microbatch];
            let event = microbatch.source.map(|source| source.event);
            deltas.extend(delta_report(Compared::Accumulated, microbatch.rank, event, Some(drift.delta)));
        }
        deltas
    }

    /// What the receipt says of each microbatch, in order of rank and backward.
    pub fn microbatch_reports<'a>(&'a self, window: &'a Window) -> impl Iterator<Item = MicrobatchReport> + 'a {
        let mut carried = self.carried.iter();
        self.microbatches.iter().filter_map(move |microbatch| {
            let (name, gradient_sum) = match microbatch.source {
                None => {
                    let carried = carried.next()?;
                    (carried.microbatch.clone(), carried.gradient_sum.clone())
                }
                Some(source) => match &window.ranks.get(microbatch.rank as usize)?.events.get(source.position)?.event {
                    Event::Backward(backward) => (backward.microbatch.clone(), backward.gradient_sum.clone()),
                    _ => return None,
                },
            };
            Some(MicrobatchReport {
                microbatch: name,
                window: count(self.window),
                rank: count(microbatch.rank),
                backward_index: count(microbatch.backward_index),
                valid_targets: count(microbatch.valid_targets),
                loss_sum: microbatch.loss_sum.and_then(finite),
                weight: microbatch.seen().and_then(finite),
                sync: microbatch.sync,
                gradient_sum,
            })
        })
    }
}

fn delta_report(field: Compared, rank: u64, event: Option<u64>, delta: Option<Delta>) -> Option<DeltaReport> {
    let delta = delta?;
    Some(DeltaReport {
        field,
        rank: count(rank),
        event: event.map(count),
        recorded: finite(delta.recorded)?,
        expected: finite(delta.expected)?,
        agrees: delta.agrees(),
        explanation: delta.explanation,
    })
}

fn finite(value: f64) -> Option<Finite> {
    Finite::new(value).ok()
}

/// A count that was refused already where it is too large (GA105).
fn count(value: u64) -> Count {
    Count::new(value.min(COUNT)).expect("bug: a count within the limit is refused")
}

fn vector(values: Option<&[f64]>) -> Option<Vec<Finite>> {
    values?.iter().map(|&value| finite(value)).collect()
}

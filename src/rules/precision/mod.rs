//! Rules over loss scaling and clipping: GA5xx.
use super::Rule;
use crate::clock::RankClock;
use crate::clock::Sighting;
use crate::finding::Code;
use crate::finding::Finding;
use crate::manifest::contract::Unobserved;
use crate::rules::Judged;

registry! {
    /// In order of code.
    PRECISION: Rule = RULE, test crate::rules::check_rule;
    unscale_count, scale_inside_window, unscale_mismatch, scaler_update_count, scaler_transition, clip_count, clip_before_unscale, nonfinite_applied,
}

/// Whether the contract declares a loss scale and the recorder sees it divided out.
fn unscales_are_seen(judged: &Judged<'_>) -> bool {
    judged.contract.loss_scale.is_some() && judged.contract.observes(Unobserved::Unscale)
}

/// Whether the contract declares clipping and the recorder sees it.
fn clips_are_seen(judged: &Judged<'_>) -> bool {
    judged.contract.clip.is_some() && judged.contract.observes(Unobserved::Clip)
}

/// A finding about a recorded loss scale, with its distance from the nearest that is right.
fn sighted(code: Code, judged: &Judged<'_>, rank: &RankClock, sighting: &Sighting, message: String) -> Finding {
    let place = judged.clock.place(rank, sighting.index).at(sighting.field);
    let distances = sighting.expected.iter().map(|expected| ((sighting.recorded - expected) / expected).abs());
    let nearest = distances.reduce(f64::min).filter(|distance| distance.is_finite());
    Finding::new(code, place, message).with_magnitude(nearest.unwrap_or(f64::MAX))
}

/// A contract with PyTorch's kind of loss scale, for tests.
#[cfg(test)]
fn amp(with: serde_json::Value) -> serde_json::Value {
    let mut contract = serde_json::json!({"loss_scale": {"policy": "dynamic", "initial": 1024, "growth_factor": 2,
        "backoff_factor": 0.5, "growth_interval": 3}});
    contract.as_object_mut().expect("an object").extend(with.as_object().expect("an object").clone());
    contract
}

//! GA405.
use crate::clock::Phase;
use crate::clock::RankClock;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Place;
use crate::manifest::contract::Unobserved;
use crate::manifest::event::Event;
use crate::manifest::event::Outcome;
use crate::manifest::list::Vector;
use crate::manifest::window::Indexed;
use crate::manifest::window::RankWindow;
use crate::rules::Check;
use crate::rules::Judged;
use std::iter;

rule! {
    /// ## What it does
    /// Compares what the ranks hold once a window's gradients are synchronised: `accumulated` after the last backward,
    /// if that backward really synchronised, the logged gradient, the clip's norm, and recorded parameters, each with
    /// rank 0's and within tolerance (norms: the relative part alone). It also finds an update that one rank applied and
    /// another skipped.
    ///
    /// ## Why it is wrong
    /// Data-parallel replicas are one model only as long as they stay equal. Once they differ, by a missing all-reduce,
    /// by a norm that each rank clips with for itself, or by one rank's overflow, every later all-reduce averages
    /// gradients of different models.
    ///
    /// ## What to do
    /// Synchronise before you clip, share the overflow flag between the ranks before you step, and load the same weights on
    /// every rank. The ranks parted in the first window that this rule names, or in the step before it.
    GA405, Check::Window(check)
}

/// What ranks must agree on: its name, field, numbers, the event's index, and whether `absolute` applies.
struct Held {
    what: &'static str,
    field: &'static str,
    index: u64,
    values: Vec<f64>,
    is_norm: bool,
    /// What rounding to decimals may hide.
    rounding: f64,
}

fn check(judged: &Judged<'_>, findings: &mut Findings) {
    let pairs: Vec<(&RankClock, &RankWindow)> = judged.clock.ranks.iter().zip(&judged.window.ranks).collect();
    let Some((&(first, first_recorded), others)) = pairs.split_first().filter(|(_, others)| !others.is_empty()) else { return };
    let reference = held(judged, first, first_recorded);
    for &(rank, recorded) in others {
        outcomes(judged, first, rank, findings);
        let own = held(judged, rank, recorded);
        for here in &own {
            let there = reference.iter().find(|there| there.what == here.what && there.field == here.field);
            let Some((position, distance)) = there.and_then(|there| divergence(judged, here, there)) else { continue };
            let (value, other) = (here.values[position], there.map_or(0.0, |there| there.values[position]));
            let whose = format!("{value} on rank {} and {other} on rank {}", rank.rank, first.rank);
            let message = format!("the ranks' {} differ: {whose}", here.what);
            let place = place(judged, rank, here, position);
            findings.report(Finding::new(Code::GA405, place, message).with_magnitude(distance));
        }
    }
}

fn place(judged: &Judged<'_>, rank: &RankClock, held: &Held, position: usize) -> Place {
    let place = judged.clock.place(rank, held.index);
    if held.is_norm { place.at(held.field) } else { place.at(format!("{}/{position}", held.field)) }
}

/// One rank applied the update and the other skipped it.
fn outcomes(judged: &Judged<'_>, first: &RankClock, rank: &RankClock, findings: &mut Findings) {
    let (Some(here), Some(there)) = (rank.outcome(), first.outcome()) else { return };
    let Some((step, _)) = rank.trace.steps.last().filter(|_| here != there) else { return };
    let (did, not) = match here {
        Outcome::Applied => (rank.rank, first.rank),
        Outcome::Skipped => (first.rank, rank.rank),
    };
    let message = format!("rank {did} applied the update and rank {not} skipped it");
    let place = judged.clock.place(rank, step.index).at("/optimizer_step/outcome");
    findings.report(Finding::new(Code::GA405, place, message).with_magnitude(f64::MAX));
}

/// Everything that a rank recorded of what it held after the window's synchronisation.
fn held(judged: &Judged<'_>, rank: &RankClock, recorded: &RankWindow) -> Vec<Held> {
    let mut held = Vec::new();
    held.extend(accumulated(judged, recorded));
    let own = recorded.events.iter().chain(&recorded.late);
    held.extend(own.filter_map(|indexed| logged_gradient(judged.clock.window, indexed)).next());
    if judged.contract.clip.is_some() && judged.contract.observes(Unobserved::Clip) {
        held.extend(clip_norm(rank, recorded));
    }
    held.extend(parameters(rank, recorded));
    held
}

fn accumulated(judged: &Judged<'_>, recorded: &RankWindow) -> Option<Held> {
    let (_, indexed, last) = recorded.backwards().next_back()?;
    let synced = judged.contract.observes(Unobserved::Sync) && last.really_synced() == Some(true);
    let values = last.accumulated.as_ref().filter(|_| synced)?;
    Some(vector("accumulated gradients", "/backward/accumulated", indexed.index, values, 0.0))
}

fn logged_gradient(window: u64, indexed: &Indexed) -> Option<Held> {
    let Event::Logged(logged) = &indexed.event else { return None };
    let gradient = logged.gradient.as_ref().filter(|_| logged.window.get() == window)?;
    let rounding = logged.decimals.map_or(0.0, |decimals| unit(decimals.get()));
    Some(vector("logged gradients", "/logged/gradient", indexed.index, gradient, rounding))
}

/// One in the last of so many decimals: two equal numbers are rounded apart by no more.
fn unit(decimals: u64) -> f64 {
    iter::repeat_n(10.0, decimals.min(400) as usize).fold(1.0, |unit, ten| unit / ten)
}

fn clip_norm(rank: &RankClock, recorded: &RankWindow) -> Option<Held> {
    let after = rank.trace.clips.iter().rev().find(|tick| tick.phase >= Phase::Complete)?;
    let Event::Clip(clip) = &recorded.events.get(after.position)?.event else { return None };
    let values = vec![clip.norm?.get()];
    let field = "/clip/norm";
    Some(Held { what: "norms before clipping", field, index: after.index, values, is_norm: true, rounding: 0.0 })
}

/// The first recorded parameters of each stretch: before the window, before its step, after it.
fn parameters(rank: &RankClock, recorded: &RankWindow) -> Vec<Held> {
    let stretches = [
        (Phase::Lead, "parameters before the window"),
        (Phase::Complete, "parameters before the update"),
        (Phase::Settled, "parameters after the update"),
    ];
    let of = |(phase, what): (Phase, &'static str)| {
        let events = recorded.events.iter().enumerate().filter(|(position, _)| rank.trace.phase(*position) == phase);
        events.filter_map(|(_, indexed)| match &indexed.event {
            Event::Parameters(parameters) => {
                Some(vector(what, "/parameters/values", indexed.index, &parameters.values, 0.0))
            }
            _ => None,
        })
        .next()
    };
    // Without a step there is no before and after.
    let settles = |stretch: &&(Phase, &str)| stretch.0 == Phase::Lead || rank.outcome().is_some();
    stretches.iter().filter(settles).copied().filter_map(of).collect()
}

fn vector(what: &'static str, field: &'static str, index: u64, values: &Vector, rounding: f64) -> Held {
    let values = values.iter().map(|value| value.get()).collect();
    Held { what, field, index, values, is_norm: false, rounding }
}

/// The component furthest beyond tolerance, with its relative distance.
fn divergence(judged: &Judged<'_>, here: &Held, there: &Held) -> Option<(usize, f64)> {
    let tolerance = judged.contract.tolerance;
    let absolute = if here.is_norm { 0.0 } else { tolerance.absolute.get() } + here.rounding + there.rounding;
    let components = here.values.iter().zip(&there.values).enumerate();
    let beyond = components.filter_map(|(position, (value, reference))| {
        let distance = (value - reference).abs();
        let size = if *reference == 0.0 { value.abs() } else { reference.abs() };
        let is_beyond = distance > absolute + tolerance.relative.get() * reference.abs();
        is_beyond.then(|| (position, if distance.is_finite() { distance / size } else { f64::MAX }))
    });
    beyond.reduce(|worst, next| if next.1 > worst.1 { next } else { worst })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::clock::testing::find;
    use crate::rules::clock::testing::find_in_manifest;
    use crate::rules::clock::testing::fires;
    use crate::rules::clock::testing::message;
    use crate::rules::sync::two;
    use serde_json::json;

    #[test]
    fn norms_are_compared_by_the_relative_tolerance_alone() {
        let clipped = || two(json!({"clip": {"max_norm": 1}}));
        assert_eq!(fires(&RULE, clipped(), &["b- b+ clip=0.5 step", "b- b+ clip=0.50000000001 step"]), 0);
        assert_eq!(
            message(&RULE, clipped(), &["b- b+ clip=0.5 step", "b- b+ clip=0.75 step"]),
            "the ranks' norms before clipping differ: 0.75 on rank 1 and 0.5 on rank 0"
        );
        assert_eq!(fires(&RULE, clipped(), &["b- b- clip=0.5 step", "b- b- clip=0.75 step"]), 1, "synced or not");
        assert_eq!(fires(&RULE, clipped(), &["b- b+ clip! skip", "b- b+ clip=0.75 skip"]), 0, "an overflow has no norm");
        assert_eq!(fires(&RULE, two(json!({})), &["b- b+ clip=0.5 step", "b- b+ clip=0.75 step"]), 0, "not declared");
        assert_eq!(fires(&RULE, clipped(), &["b- clip=1 b+ clip=0.5 step", "b- clip=2 b+ clip=0.5 step"]), 0);
    }

    #[test]
    fn an_update_is_applied_by_all_or_none() {
        let found = find(&RULE, two(json!({})), &["b b b step", "b b b skip"]);
        assert_eq!(found[0].message, "rank 0 applied the update and rank 1 skipped it");
        assert_eq!(fires(&RULE, two(json!({})), &["b b b skip", "b b b skip"]), 0);
        assert_eq!(fires(&RULE, two(json!({})), &["b b b step", "b b b"]), 0, "no step is another rule's");
    }

    #[test]
    fn parameters_are_compared_at_the_same_moment() {
        let good = ["params=1 b b b params=1 step params=2", "params=1 b b b params=1 step params=2"];
        assert_eq!(fires(&RULE, two(json!({})), &good), 0);
        let other = ["params=1 b b b step params=2", "params=1 b b b step params=3"];
        assert_eq!(
            message(&RULE, two(json!({})), &other),
            "the ranks' parameters after the update differ: 3 on rank 1 and 2 on rank 0"
        );
        assert_eq!(fires(&RULE, two(json!({})), &["b b b params=1 step", "b b b step params=2"]), 0);
    }

    #[test]
    fn gradients_are_compared_after_the_synchronisation() {
        let run = |sync: bool, other: f64| {
            let rank = |rank: u64, value: f64| {
                json!({"rank": rank, "events": [
                    {"backward": {"window": 0, "microbatch": format!("r{rank}"), "valid_targets": 1, "loss_sum": 1.0,
                        "sync": sync, "accumulated": [0.5, value]}},
                    {"optimizer_step": {"window": 0, "outcome": "applied"}},
                    {"logged": {"window": 0, "gradient": [value], "decimals": 1}},
                ]})
            };
            let contract = json!({"formula": "token-mean/1", "accumulation_steps": 1, "world_size": 2, "tail": "flush",
                "tolerance": {"absolute": 1e-3, "relative": 0.0}, "precision": "float64", "gradient_reduction": "mean"});
            let text = json!({"schema": "accumulation/rank-manifest/1", "contract": contract,
                "ranks": [rank(0, 2.0), rank(1, other)]});
            find_in_manifest(&[&RULE], &text.to_string()).into_iter().flat_map(|folded| folded.instances)
        };
        assert_eq!(run(true, 2.0005).count(), 0);
        let found: Vec<_> = run(true, 2.05).map(|(place, message)| (place.field, message)).collect();
        assert_eq!(found.len(), 1, "logged with one decimal it may be the same: {found:?}");
        assert_eq!(found[0].0.as_deref(), Some("/backward/accumulated/1"));
        assert_eq!(run(true, 3.0).count(), 2);
        assert_eq!(run(false, 3.0).count(), 1, "accumulated is local before the synchronisation");
    }
}

//! Gradients, their norms and the buffers they were accumulated in, against what every recipe predicts.
use super::candidate::Candidate;
use super::candidate::ENOUGH_TELLING;
use super::candidate::Fit;
use super::candidate::Kind;
use super::domain::Domain;
use super::domain::Setting;
use crate::canonical::Finite;
use crate::ledger::accumulator::Growths;
use crate::ledger::accumulator::Meeting;
use crate::ledger::base::Base;
use crate::ledger::claim::accepts_rounded;
use crate::ledger::claim::half_unit;
use crate::ledger::claim::logged;
use crate::ledger::drift;
use crate::ledger::gradient;
use crate::ledger::gradient::Numerators;
use crate::ledger::norm::comparable_clip;
use crate::ledger::window::VectorDelta;
use crate::ledger::window::WindowLedger;
use crate::manifest::contract::Contract;
use crate::manifest::window::Window;
use crate::numeric::tolerance::Tolerance;

/// A recorded vector or norm, and what rounding to decimals can hide of it.
struct Recorded<'a> {
    gradients: Vec<(&'a [Finite], f64)>,
    norms: Vec<(f64, f64)>,
}

impl<'a> Recorded<'a> {
    fn of(contract: &Contract, window: &'a Window) -> Self {
        let is_complete = contract.gradient_basis.as_ref().is_some_and(|basis| basis.is_complete());
        let mut recorded = Recorded { gradients: Vec::new(), norms: Vec::new() };
        for (_, _, logged) in logged(window) {
            let gradient = logged.gradient.as_deref().map(|gradient| (gradient, half_unit(logged)));
            recorded.gradients.extend(gradient);
            let norm = logged.grad_norm.filter(|_| is_complete).map(|norm| (norm.get(), half_unit(logged)));
            recorded.norms.extend(norm);
        }
        if is_complete {
            let clips = window.ranks.iter().filter_map(|rank| comparable_clip(contract, rank));
            recorded.norms.extend(clips.map(|(_, norm)| (norm, 0.0)));
        }
        recorded
    }
}

/// Compares the gradients and norms recorded of a window.
pub(super) fn compare_gradients(
    contract: &Contract,
    tolerance: Tolerance,
    window: &Window,
    ledger: &WindowLedger,
    setting: Setting,
    domain: &mut Domain,
) {
    if ledger.gradients.as_ref().is_none_or(|gradients| gradients.has_auxiliary) {
        return;
    }
    let recorded = Recorded::of(contract, window);
    if recorded.gradients.is_empty() && recorded.norms.is_empty() {
        return;
    }
    let Some(numerators) = Numerators::of(window, ledger) else { return };
    domain.recorded[Kind::Gradient as usize] |= !recorded.gradients.is_empty();
    domain.recorded[Kind::Norm as usize] |= !recorded.norms.is_empty();
    let telling = [gradients_tell(ledger), norms_tell(ledger)];
    for base in Base::ALL {
        let is_open = |candidate: &Candidate| {
            let dead = [Kind::Gradient, Kind::Norm].map(|kind| candidate.fit(kind).is_dead());
            candidate.recipe.base == base && dead != [true, true]
        };
        if !domain.candidates.iter().any(is_open) {
            continue;
        }
        let Some(weights) = weights(ledger, base, setting) else { continue };
        let predicted = sum(&numerators, &weights, ledger.counts.reduction);
        let length = gradient::norm(&predicted);
        for candidate in domain.candidates.iter_mut().filter(|candidate| is_open(candidate)) {
            let factor = candidate.recipe.factor.value(&ledger.counts);
            for &(gradient, half_unit) in &recorded.gradients {
                let fit = candidate.fit_mut(Kind::Gradient);
                fit.telling += telling[0];
                vector(fit, tolerance, gradient, &predicted, factor, half_unit, ledger.terms());
            }
            let relative = Tolerance::new(0.0, tolerance.relative()).expect("bug: a tolerance's part is possible");
            for &(norm, half_unit) in &recorded.norms {
                let fit = candidate.fit_mut(Kind::Norm);
                fit.compared += 1;
                fit.telling += telling[1];
                let expected = length * factor;
                if !accepts_rounded(relative, norm, expected, half_unit) {
                    fit.differ(((norm - expected).abs() - half_unit).max(0.0) / expected, ledger.terms());
                }
            }
        }
    }
}

/// What a comparison tells against the declared formula.
fn tells(is_off: bool) -> u64 {
    if is_off { ENOUGH_TELLING } else { 0 }
}

/// Whether the declared formula gives another gradient than the logged one.
fn gradients_tell(ledger: &WindowLedger) -> u64 {
    let is_off = |gradient: VectorDelta| gradient.delta.explanation.is_some();
    tells(ledger.claims.iter().filter_map(|claim| claim.gradient).any(is_off))
}

/// Whether the declared formula gives another norm than the recorded ones.
fn norms_tell(ledger: &WindowLedger) -> u64 {
    let logged = ledger.claims.iter().filter_map(|claim| claim.grad_norm);
    let clipped = ledger.clips.iter().filter_map(|clip| clip.gradient);
    tells(logged.chain(clipped).any(|delta| delta.explanation.is_some()))
}

/// Compares one recorded gradient with `factor` times the predicted one.
fn vector(
    fit: &mut Fit,
    tolerance: Tolerance,
    recorded: &[Finite],
    predicted: &[f64],
    factor: f64,
    half_unit: f64,
    terms: u64,
) {
    if recorded.len() != predicted.len() {
        return;
    }
    fit.compared += 1;
    let scale = predicted.iter().fold(0.0, |greatest: f64, value| greatest.max(value.abs())) * factor;
    for (recorded, predicted) in recorded.iter().zip(predicted) {
        let (recorded, predicted) = (recorded.get(), predicted * factor);
        if !accepts_rounded(tolerance, recorded, predicted, half_unit) {
            // Rounding of an element scales with its terms; the vector's greatest element bounds those fairly.
            fit.differ(((recorded - predicted).abs() - half_unit).max(0.0) / scale, terms);
        }
    }
}

/// f of every microbatch under a base, 0 without targets; `None` where one is not known. An overwriting base gives the
/// declared weight to what is left.
fn weights(ledger: &WindowLedger, base: Base, setting: Setting) -> Option<Vec<f64>> {
    let counts = &ledger.counts;
    let weight = |microbatch: &crate::ledger::microbatch::Microbatch| {
        if microbatch.valid_targets == 0 {
            return Some(0.0);
        }
        let weight = counts.fraction(base, microbatch)?.weight();
        match base.overwrites() {
            true => Some(weight * counts.fraction(setting.declared, microbatch)?.weight()),
            false => Some(weight),
        }
    };
    ledger.microbatches.iter().map(weight).collect()
}

/// Σ weight·G / c.
fn sum(numerators: &Numerators<'_>, weights: &[f64], c: u64) -> Vec<f64> {
    let mut sum = vec![0.0; numerators.dimension()];
    for (microbatch, weight) in weights.iter().enumerate() {
        for (sum, value) in sum.iter_mut().zip(numerators.get(microbatch)) {
            *sum += value.get() * weight;
        }
    }
    sum.iter().map(|value| value / c as f64).collect()
}

/// Compares the buffers recorded in a window.
pub(super) fn compare_buffers(
    contract: &Contract,
    tolerance: Tolerance,
    window: &Window,
    ledger: &WindowLedger,
    setting: Setting,
    domain: &mut Domain,
) {
    let Some(growths) = Growths::of(contract, window, ledger) else { return };
    domain.recorded[Kind::Accumulated as usize] |= growths.recorded().next().is_some();
    for candidate in &mut domain.candidates {
        if candidate.fit(Kind::Accumulated).is_dead() {
            continue;
        }
        let (shown, meeting) = match candidate.recipe.base {
            Base::LastMicrobatchOnly => (setting.declared, Meeting::Replace),
            Base::FirstMicrobatchOnly => (setting.declared, Meeting::KeepFirst),
            base => (base, Meeting::Add),
        };
        let Some(weights) = weights(ledger, shown, setting) else { continue };
        let factor = candidate.recipe.factor.value(&ledger.counts);
        let weights: Vec<f64> = weights.iter().map(|weight| weight * factor).collect();
        let fit = candidate.fit_mut(Kind::Accumulated);
        for (growth, peers) in growths.recorded() {
            fit.compared += 1;
            fit.telling += tells(ledger.drift.is_some());
            let expected = |element| growths.expected(&peers, element, &weights, meeting);
            if let Some((_, delta)) = drift::worst(&growths, growth, tolerance, expected) {
                let greatest = |greatest: f64, element| greatest.max(expected(element).abs());
                let scale = (0..growths.dimension()).fold(0.0, greatest);
                fit.differ((delta.recorded - delta.expected).abs() / scale, ledger.terms());
            }
        }
    }
}

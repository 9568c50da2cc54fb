//! Recorded buffers against what each backward must have added (GA207).
use super::accumulator::Growth;
use super::accumulator::Growths;
use super::accumulator::Meeting;
use super::delta::Delta;
use super::window::AccumulatorDrift;
use super::window::Looks;
use super::window::WindowLedger;
use crate::manifest::contract::Contract;
use crate::manifest::window::Window;
use crate::numeric::rounding::Explanation;
use crate::numeric::tolerance::Tolerance;

/// Compares every recorded buffer of a window under the declared weights.
pub(super) fn drift(
    contract: &Contract,
    tolerance: Tolerance,
    window: &Window,
    ledger: &WindowLedger,
) -> Option<AccumulatorDrift> {
    let growths = Growths::of(contract, window, ledger)?;
    let weights: Vec<f64> = ledger.microbatches.iter().map(declared).collect();
    let mut found: Option<AccumulatorDrift> = None;
    for (growth, peers) in growths.recorded() {
        if peers.iter().any(|peer| !is_known(&growths, peer, &weights)) {
            continue;
        }
        let expected = |element| growths.expected(&peers, element, &weights, Meeting::Add);
        let Some((element, delta)) = worst(&growths, growth, tolerance, expected) else { continue };
        match &mut found {
            Some(found) => found.off += 1,
            None => {
                let looks = looks(&growths, growth, &peers, &weights, tolerance);
                let terms = ledger.terms();
                let explanation = Explanation::of(delta.relative(), terms, contract.precision, 1.0);
                let delta = Delta { explanation: Some(explanation), ..delta };
                found = Some(AccumulatorDrift { off: 1, microbatch: growth.microbatch, element, delta, looks });
            }
        }
    }
    found
}

/// f; 0 without targets, NaN where it is not known.
fn declared(microbatch: &super::microbatch::Microbatch) -> f64 {
    if microbatch.valid_targets == 0 { 0.0 } else { microbatch.declared.unwrap_or(f64::NAN) }
}

/// Whether every weight that a buffer depends on is known.
fn is_known(growths: &Growths<'_>, growth: &Growth<'_>, weights: &[f64]) -> bool {
    growths.dimension() == 0 || growths.expected(&[growth], 0, weights, Meeting::Add).is_finite()
}

/// The element furthest beyond tolerance, if one is. Compared as parts of the final gradient, without loss scale and
/// with later rescales, for which the absolute tolerance was declared.
pub(super) fn worst(
    growths: &Growths<'_>,
    growth: &Growth<'_>,
    tolerance: Tolerance,
    expected: impl Fn(usize) -> f64,
) -> Option<(usize, Delta)> {
    let unit = growths.unit(growth.microbatch);
    let mut worst: Option<(usize, Delta)> = None;
    for (element, recorded) in growth.after().iter().enumerate() {
        let (recorded, expected) = (recorded.get(), expected(element));
        if tolerance.accepts(recorded * unit, expected * unit) {
            continue;
        }
        let delta = Delta { recorded, expected, explanation: None };
        let further =
            |&(_, worst): &(usize, Delta)| (recorded - expected).abs() > (worst.recorded - worst.expected).abs();
        if worst.as_ref().is_none_or(further) {
            worst = Some((element, delta));
        }
    }
    worst
}

/// What a buffer that is off looks like, in all of its elements.
fn looks(
    growths: &Growths<'_>,
    growth: &Growth<'_>,
    peers: &[&Growth<'_>],
    weights: &[f64],
    tolerance: Tolerance,
) -> Looks {
    let fits = |expected: &dyn Fn(usize) -> f64| worst(growths, growth, tolerance, expected).is_none();
    let added = |element| growths.expected(peers, element, weights, Meeting::Replace);
    let sum = |element| growths.expected(peers, element, weights, Meeting::Add);
    if growth.starts_clear() {
        return if fits(&|element| 2.0 * added(element)) { Looks::Doubled } else { Looks::CarriedIn };
    }
    if fits(&added) {
        Looks::Overwritten
    } else if fits(&|element| growths.expected(peers, element, weights, Meeting::KeepFirst)) {
        Looks::Unchanged
    } else if fits(&|element| 2.0 * sum(element) - added(element)) || fits(&|element| sum(element) + added(element)) {
        Looks::Doubled
    } else {
        Looks::Otherwise
    }
}

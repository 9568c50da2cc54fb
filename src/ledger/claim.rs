//! What the run logged of a window, against what the declared formula gives.
use super::base::Base;
use super::delta::Delta;
use super::delta::relative;
use super::gradient;
use super::gradient::Numerators;
use super::gradient::values;
use super::history::History;
use super::microbatch::Microbatch;
use super::norm;
use super::window::Claim;
use super::window::VectorDelta;
use super::window::WindowLedger;
use crate::canonical::Count;
use crate::manifest::contract::Contract;
use crate::manifest::event::Event;
use crate::manifest::event::Logged;
use crate::manifest::limits::DECIMALS;
use crate::manifest::window::Window;
use crate::numeric::exact::ExactSum;
use crate::numeric::rounding::Explanation;
use crate::numeric::tolerance::Tolerance;
use std::cell::OnceCell;

/// Half a unit of the last of so many decimals.
const HALF_UNITS: [f64; DECIMALS as usize + 1] = [
    5e-1, 5e-2, 5e-3, 5e-4, 5e-5, 5e-6, 5e-7, 5e-8, 5e-9, 5e-10, 5e-11, 5e-12, 5e-13, 5e-14, 5e-15, 5e-16, 5e-17, 5e-18,
];

/// Every `logged` event about the window: rank, index of the event, what it says.
pub fn logged(window: &Window) -> impl Iterator<Item = (u64, u64, &Logged)> + Clone {
    window.ranks.iter().flat_map(move |rank| {
        rank.events.iter().chain(&rank.late).filter_map(move |indexed| match &indexed.event {
            Event::Logged(logged) if logged.window.get() == window.window => Some((rank.rank, indexed.index, logged)),
            _ => None,
        })
    })
}

/// What rounding to `decimals` can hide, in the unit of what was rounded.
pub fn half_unit(logged: &Logged) -> f64 {
    let decimals = logged.decimals.map(|decimals| decimals.get().min(DECIMALS) as usize);
    decimals.map_or(0.0, |decimals| HALF_UNITS[decimals])
}

/// Compares every claim about a window that was stepped or skipped.
pub(super) fn claims(
    contract: &Contract,
    tolerance: Tolerance,
    window: &Window,
    ledger: &WindowLedger,
    history: &History,
) -> Vec<Claim> {
    if !ledger.stepped_or_skipped() {
        return Vec::new();
    }
    // The same for every claim about the window, of which there is one a rank.
    let scale = OnceCell::new();
    logged(window)
        .map(|(rank, event, logged)| {
            let windows = logged.windows.map_or(1, Count::get);
            Claim {
                rank,
                event,
                loss: loss(contract, tolerance, ledger, history, &scale, logged),
                windows,
                denominator: denominator(contract, ledger, rank, logged),
                gradient: gradient(contract, tolerance, window, ledger, logged),
                grad_norm: norm::logged(contract, tolerance, ledger, logged),
            }
        })
        .collect()
}

/// The logged loss against Σ f·loss_sum / c, or against the mean of that over several windows.
///
/// Where microbatches have auxiliary losses, a log with them is as right as one without.
fn loss(
    contract: &Contract,
    tolerance: Tolerance,
    ledger: &WindowLedger,
    history: &History,
    scale: &OnceCell<(u64, f64)>,
    logged: &Logged,
) -> Option<Delta> {
    let recorded = logged.loss?.get();
    let windows = logged.windows.map_or(1, Count::get);
    let expected = history.mean_loss(windows)?;
    let half_unit = half_unit(logged);
    let accepts = |expected| accepts_rounded(tolerance, recorded, expected, half_unit);
    let with_auxiliary = || windows == 1 && ledger.auxiliary.is_some_and(|auxiliary| accepts(expected + auxiliary));
    let explanation = (!accepts(expected) && !with_auxiliary()).then(|| {
        let (terms, magnitude) = *scale.get_or_init(|| terms(ledger));
        let beyond = (recorded - expected).abs() - half_unit;
        Explanation::of(beyond, terms, contract.loss_arithmetic(), magnitude)
    });
    Some(Delta { recorded, expected, explanation })
}

/// Whether a number rounded to within `half_unit` agrees.
pub fn accepts_rounded(tolerance: Tolerance, recorded: f64, expected: f64, half_unit: f64) -> bool {
    tolerance.accepts(recorded, expected)
        || half_unit > 0.0
            && Tolerance::new(tolerance.absolute() + half_unit, tolerance.relative())
                .is_some_and(|tolerance| tolerance.accepts(recorded, expected))
}

/// m, and Σ|f·loss_sum| / c in nats per target: what rounding of a window's loss scales with.
fn terms(ledger: &WindowLedger) -> (u64, f64) {
    let weighted = |microbatch: &Microbatch| {
        let declared = microbatch.declared.filter(|_| microbatch.valid_targets > 0)?;
        Some((microbatch.loss_sum? * declared).abs()).filter(|term| term.is_finite())
    };
    let magnitude: ExactSum = ledger.microbatches.iter().filter_map(weighted).collect();
    (ledger.terms(), magnitude.over(ledger.counts.reduction))
}

/// The logged denominator against N, or against the count that the declared formula divides by.
fn denominator(contract: &Contract, ledger: &WindowLedger, rank: u64, logged: &Logged) -> Option<Delta> {
    let recorded = logged.denominator?.get();
    let own = ledger.counts.denominator(Base::of(contract.formula), rank)?;
    let agrees = recorded == own || recorded == ledger.counts.valid_targets;
    let explanation = (!agrees).then_some(Explanation::DifferentObjective);
    Some(Delta { recorded: recorded as f64, expected: own as f64, explanation })
}

/// The logged gradient against Σ f·G / c.
fn gradient(
    contract: &Contract,
    tolerance: Tolerance,
    window: &Window,
    ledger: &WindowLedger,
    logged: &Logged,
) -> Option<VectorDelta> {
    let recorded = logged.gradient.as_ref()?;
    let gradients = ledger.gradients.as_ref().filter(|gradients| !gradients.has_auxiliary)?;
    let expected = gradients.declared.as_ref().filter(|expected| expected.len() == recorded.len())?;
    let half_unit = half_unit(logged);
    let mut worst: Option<(bool, usize, f64)> = None;
    for (element, (recorded, &expected)) in values(recorded).zip(expected).enumerate() {
        let beyond = !accepts_rounded(tolerance, recorded, expected, half_unit);
        let difference = (recorded - expected).abs();
        if worst.is_none_or(|(was, _, least)| (beyond, difference) > (was, least)) {
            worst = Some((beyond, element, difference));
        }
    }
    let (beyond, element, difference) = worst?;
    let explanation = beyond.then(|| {
        let magnitude = magnitude(window, ledger, element);
        Explanation::of(difference - half_unit, ledger.terms(), contract.precision, magnitude)
    });
    let delta = Delta { recorded: recorded[element].get(), expected: expected[element], explanation };
    let differences: Vec<f64> =
        values(recorded).zip(expected).map(|(recorded, expected)| recorded - expected).collect();
    let relative = relative(gradient::norm(&differences), gradient::norm(expected));
    Some(VectorDelta { element, delta, relative })
}

/// Σ|f·G| / c of one element.
fn magnitude(window: &Window, ledger: &WindowLedger, element: usize) -> f64 {
    let Some(numerators) = Numerators::of(window, ledger) else { return f64::INFINITY };
    let term = |(index, microbatch): (usize, &Microbatch)| {
        let weight = microbatch.declared.filter(|_| microbatch.valid_targets > 0).unwrap_or(0.0);
        (numerators.get(index)[element].get() * weight).abs()
    };
    let sum: f64 = ledger.microbatches.iter().enumerate().map(term).sum();
    sum / ledger.counts.reduction as f64
}

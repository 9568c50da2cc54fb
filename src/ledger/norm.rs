//! Gradient norms: logged and clipped ones against the gradient's own, and against each other (GA205).
use super::claim;
use super::claim::accepts_rounded;
use super::claim::half_unit;
use super::delta::Delta;
use super::gradient::norm;
use super::gradient::values;
use super::window::ClipClaim;
use super::window::WindowLedger;
use crate::canonical::Finite;
use crate::manifest::contract::Contract;
use crate::manifest::contract::Unobserved;
use crate::manifest::event::Clip;
use crate::manifest::event::Event;
use crate::manifest::event::Logged;
use crate::manifest::window::RankWindow;
use crate::manifest::window::Window;
use crate::numeric::rounding::Explanation;
use crate::numeric::tolerance::Tolerance;

/// The gradient's L2 norm, where the basis is complete: the declared gradient's or, where that is not known, that of
/// the gradient that the rank itself logged, unless it was rounded.
fn expected(contract: &Contract, ledger: &WindowLedger, logged: Option<&Logged>) -> Option<f64> {
    contract.gradient_basis.as_ref().filter(|basis| basis.is_complete())?;
    let gradients = ledger.gradients.as_ref().filter(|gradients| !gradients.has_auxiliary);
    let length = match gradients.and_then(|gradients| gradients.declared.as_ref()) {
        Some(declared) => norm(declared),
        None => {
            let logged = logged.filter(|logged| logged.decimals.is_none())?.gradient.as_ref()?;
            norm(&values(logged).collect::<Vec<f64>>())
        }
    };
    Some(length).filter(|length| length.is_finite())
}

/// A logged norm against that of the gradient.
pub(super) fn logged(
    contract: &Contract,
    tolerance: Tolerance,
    ledger: &WindowLedger,
    logged: &Logged,
) -> Option<Delta> {
    let recorded = logged.grad_norm?.get();
    let expected = expected(contract, ledger, Some(logged))?;
    Some(compare(contract, tolerance, ledger, recorded, expected, half_unit(logged)))
}

/// Every clipped norm that can be compared.
pub(super) fn clips(
    contract: &Contract,
    tolerance: Tolerance,
    window: &Window,
    ledger: &WindowLedger,
) -> Vec<ClipClaim> {
    let mut found = Vec::new();
    for rank in &window.ranks {
        let Some((event, recorded)) = comparable_clip(contract, rank) else { continue };
        let own = || claim::logged(window).filter(|&(of, _, _)| of == rank.rank).map(|(_, _, logged)| logged);
        let with_gradient = own().find(|logged| logged.gradient.is_some());
        let gradient = expected(contract, ledger, with_gradient)
            .map(|expected| compare(contract, tolerance, ledger, recorded, expected, 0.0));
        let logged = own().find_map(|logged| Some((logged.grad_norm?.get(), half_unit(logged))));
        let logged = logged.map(|(norm, half_unit)| compare(contract, tolerance, ledger, recorded, norm, half_unit));
        if gradient.is_some() || logged.is_some() {
            found.push(ClipClaim { rank: rank.rank, event, gradient, logged });
        }
    }
    found
}

/// Norms are compared by the relative part alone.
fn compare(
    contract: &Contract,
    tolerance: Tolerance,
    ledger: &WindowLedger,
    recorded: f64,
    expected: f64,
    half_unit: f64,
) -> Delta {
    let relative = Tolerance::new(0.0, tolerance.relative()).expect("bug: a tolerance's own part is possible");
    let explanation = (!accepts_rounded(relative, recorded, expected, half_unit)).then(|| {
        let beyond = (recorded - expected).abs() - half_unit;
        Explanation::of(beyond, ledger.terms(), contract.precision, expected)
    });
    Delta { recorded, expected, explanation }
}

/// The clip of a rank whose norm is that of the unscaled gradient of the whole window: the only one, after the last
/// backward and, where there is a loss scale, after the unscale.
pub(super) fn comparable_clip(contract: &Contract, rank: &RankWindow) -> Option<(u64, f64)> {
    let mut clip: Option<(u64, &Clip)> = None;
    let mut is_scaled = contract.loss_scale.is_some();
    let mut unscaled = false;
    let mut comparable = false;
    for indexed in &rank.events {
        match &indexed.event {
            Event::Backward(backward) => {
                is_scaled |= backward.loss_scale.map(Finite::get).is_some_and(|scale| scale != 1.0);
                (unscaled, comparable) = (false, false);
            }
            Event::Unscale(_) => unscaled = true,
            Event::Clip(this) => {
                if clip.is_some() {
                    return None;
                }
                clip = Some((indexed.index, this));
                comparable = !is_scaled || unscaled && contract.observes(Unobserved::Unscale);
            }
            Event::OptimizerStep(_) => break,
            _ => {}
        }
    }
    let (event, clip) = clip.filter(|_| comparable)?;
    Some((event, clip.norm?.get()))
}

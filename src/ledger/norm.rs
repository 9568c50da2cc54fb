//! Gradient norms: logged and clipped ones against the gradient's own, and against each other (GA205).
use super::claim::accepts_rounded;
use super::claim::half_unit;
use super::delta::Delta;
use super::gradient::norm;
use super::window::Claim;
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

/// The L2 norm of the declared gradient, where the basis is complete and nothing else was differentiated.
pub(super) fn expected(contract: &Contract, ledger: &WindowLedger) -> Option<f64> {
    let basis = contract.gradient_basis.as_ref()?;
    let gradients = ledger.gradients.as_ref()?;
    let comparable = basis.is_complete() && !gradients.has_auxiliary;
    let declared = gradients.declared.as_ref().filter(|_| comparable)?;
    Some(norm(declared)).filter(|norm| norm.is_finite())
}

/// A logged norm against that of the gradient.
pub(super) fn logged(
    contract: &Contract,
    tolerance: Tolerance,
    ledger: &WindowLedger,
    logged: &Logged,
) -> Option<Delta> {
    let recorded = logged.grad_norm?.get();
    let expected = expected(contract, ledger)?;
    Some(compare(contract, tolerance, ledger, recorded, expected, half_unit(logged)))
}

/// Every clipped norm that can be compared.
pub(super) fn clips(
    contract: &Contract,
    tolerance: Tolerance,
    window: &Window,
    ledger: &WindowLedger,
    claims: &[Claim],
) -> Vec<ClipClaim> {
    let expected = expected(contract, ledger);
    let mut found = Vec::new();
    for rank in &window.ranks {
        let Some((event, recorded)) = comparable_clip(contract, rank) else { continue };
        let gradient = expected.map(|expected| compare(contract, tolerance, ledger, recorded, expected, 0.0));
        let logged = grad_norm(window, rank.rank, claims)
            .map(|(logged, half_unit)| compare(contract, tolerance, ledger, recorded, logged, half_unit));
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

/// The norm that a rank logged about a window, and half a unit of its last decimal.
fn grad_norm(window: &Window, rank: u64, claims: &[Claim]) -> Option<(f64, f64)> {
    claims.iter().filter(|claim| claim.rank == rank).find_map(|claim| {
        let (_, _, logged) = super::claim::logged(window).find(|&(of, event, _)| (of, event) == (rank, claim.event))?;
        Some((logged.grad_norm?.get(), half_unit(logged)))
    })
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

//! By how much: the worst windows, what they should be beside what they were.
use crate::canonical::Finite;
use crate::finding::Code;
use crate::ledger::evidence::Presence;
use crate::manifest::contract::Evidence;
use crate::receipt::document::ClaimReport;
use crate::receipt::document::Compared;
use crate::receipt::document::Receipt;
use crate::receipt::document::WindowReport;
use crate::report::headline;
use crate::report::layout::Block;
use crate::report::layout::Section;
use crate::report::layout::Table;
use crate::report::layout::table::Cell;
use crate::report::words;

/// Windows shown.
const SHOWN: usize = 8;

/// By how much; absent where nothing was computed.
pub(super) fn section(receipt: &Receipt) -> Option<Section> {
    receipt.totals.as_ref()?;
    let section = Section::new("By how much");
    let Some(windows) = &receipt.windows else {
        return Some(section.paragraph("This receipt holds no single windows (its detail is summary)."));
    };
    let relative = receipt.contract.as_ref().map_or(0.0, |contract| contract.tolerance.relative.get());
    let mut off: Vec<(Drift, &WindowReport)> =
        windows.iter().filter(|window| is_off(window, relative)).map(|window| (Drift::of(window), window)).collect();
    if off.is_empty() {
        return Some(section.paragraph(nothing_off(receipt)));
    }
    off.sort_by(|(left, _), (right, _)| right.worst().total_cmp(&left.worst()));
    let all = words::count(windows.len() as u64, "window");
    let are = if off.len() == 1 { "is" } else { "are" };
    Some(
        section
            .paragraph(format!(
                "{} of {all} {are} off, the worst first. Losses are in nats per target; what is off is in per cent of \
                 what was declared.",
                off.len()
            ))
            .with(Block::Table(table(receipt, &off))),
    )
}

/// Evidence that can be compared with what the formula gives.
const COMPARABLE: [Evidence; 7] = [
    Evidence::Weights,
    Evidence::Loss,
    Evidence::Denominator,
    Evidence::Gradient,
    Evidence::Norm,
    Evidence::Accumulated,
    Evidence::Parameters,
];

/// What is said where no window is off: nothing was compared, all agrees, or the fault is of another kind.
fn nothing_off(receipt: &Receipt) -> &'static str {
    if COMPARABLE.iter().all(|&kind| headline::extent(receipt, kind) == Presence::None) {
        return "Nothing was recorded that could be compared (no backward_loss, logged loss, denominator, gradient or \
                norm).";
    }
    let found = |codes: &str| receipt.findings.iter().any(|finding| finding.code.as_str().starts_with(codes));
    match () {
        () if receipt.findings.is_empty() => "No recorded number of any window is off.",
        () if found("GA2") => "No window's loss, weights, gradient or norm is off; what is wrong is said above.",
        () if receipt.findings.iter().any(|finding| is_of_another_number(finding.code)) => {
            "No loss, weight, gradient or norm is off; what is wrong is another recorded number (see above)."
        }
        () => "No loss, weight, gradient or norm is off; what is wrong is the order of events (see above).",
    }
}

/// Whether a rule compares recorded numbers that are no window's: rates, counters, scales, ranks with each other.
fn is_of_another_number(code: Code) -> bool {
    use Code::*;
    matches!(code, GA307 | GA308 | GA311 | GA405 | GA503 | GA505 | GA602)
}

/// Whether a recorded number of a window is beyond tolerance.
fn is_off(window: &WindowReport, relative: f64) -> bool {
    let compared = window.logged.iter().flat_map(|claim| [claim.loss, claim.denominator, claim.gradient_norm]);
    let drifts = window.logged.iter().filter_map(|claim| claim.gradient_drift);
    window.deltas.as_ref().is_some_and(|deltas| deltas.weights_off.get() > 0)
        || compared.flatten().any(|compared| compared.explanation.is_some())
        || drifts.into_iter().any(|drift| drift.get() > relative)
}

/// How far a window is off, each relative; absent where not recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::report) struct Drift {
    /// The worst weight; infinite where its weight should be 0.
    pub(in crate::report) weight: Option<f64>,
    /// The loss that was differentiated.
    pub(in crate::report) loss: Option<f64>,
    /// The loss that was logged.
    pub(in crate::report) logged: Option<f64>,
    /// The count that it logs to have divided by.
    denominator: Option<f64>,
    /// A logged or clipped norm.
    norm: Option<f64>,
    /// L2 distance of the logged gradient.
    logged_gradient: Option<f64>,
    /// L2 distance of the gradient that the weights seen make.
    gradient: Option<f64>,
    /// Cosine between the gradient and the declared one.
    cosine: Option<f64>,
}

impl Drift {
    /// Of a window.
    pub(in crate::report) fn of(window: &WindowReport) -> Self {
        let weights = window.deltas.as_ref();
        let gradients = window.gradient.as_deref().zip(window.accumulated.gradient.as_deref());
        let worst = |claimed: fn(&ClaimReport) -> Option<Compared>| {
            let claims = window.logged.iter().filter_map(claimed);
            claims.map(|claim| relative(claim.recorded.get(), claim.expected.get())).reduce(f64::max)
        };
        let drifts = window.logged.iter().filter_map(|claim| claim.gradient_drift);
        Drift {
            weight: weights.map(|deltas| deltas.worst_weight.map_or(f64::INFINITY, Finite::get)),
            loss: window.loss.zip(window.accumulated.loss).map(|(loss, made)| relative(made.get(), loss.get())),
            logged: worst(|claim| claim.loss),
            denominator: worst(|claim| claim.denominator),
            norm: worst(|claim| claim.gradient_norm),
            logged_gradient: drifts.map(Finite::get).reduce(f64::max),
            gradient: gradients.map(|(declared, made)| distance(declared, made)),
            cosine: gradients.map(|(declared, made)| cosine(declared, made)).filter(|cosine| cosine.is_finite()),
        }
    }

    fn worst(&self) -> f64 {
        let drifts =
            [self.weight, self.loss, self.logged, self.denominator, self.norm, self.logged_gradient, self.gradient];
        drifts.into_iter().flatten().fold(0.0, f64::max)
    }
}

/// The logged loss that is furthest off.
fn logged(window: &WindowReport) -> Option<Compared> {
    let losses = window.logged.iter().filter_map(|claim| claim.loss);
    let off = |loss: &Compared| relative(loss.recorded.get(), loss.expected.get());
    losses.max_by(|left, right| off(left).total_cmp(&off(right)))
}

/// The loss of a window that logged the very loss that it made.
fn made_and_logged(window: &WindowReport) -> Option<Finite> {
    logged(window).map(|loss| loss.recorded).filter(|recorded| window.accumulated.loss == Some(*recorded))
}

fn relative(made: f64, declared: f64) -> f64 {
    let difference = (made - declared).abs();
    if difference == 0.0 { 0.0 } else { difference / declared.abs() }
}

fn distance(declared: &[Finite], made: &[Finite]) -> f64 {
    let squares =
        declared.iter().zip(made).map(|(declared, made)| (made.get() - declared.get()) * (made.get() - declared.get()));
    relative(squares.sum::<f64>().sqrt() + norm(declared), norm(declared))
}

fn cosine(declared: &[Finite], made: &[Finite]) -> f64 {
    let products: f64 = declared.iter().zip(made).map(|(declared, made)| declared.get() * made.get()).sum();
    products / (norm(declared) * norm(made))
}

fn norm(vector: &[Finite]) -> f64 {
    vector.iter().map(|value| value.get() * value.get()).sum::<f64>().sqrt()
}

fn table(receipt: &Receipt, off: &[(Drift, &WindowReport)]) -> Table {
    let shown = &off[..off.len().min(SHOWN)];
    // A log that tells the loss that was made needs no columns of its own.
    let is_made_logged =
        shown.iter().all(|(drift, window)| drift.logged == drift.loss && made_and_logged(window).is_some());
    let mut table = Table::new(&[
        "#window",
        "#microbatches",
        "#targets",
        "#loss declared",
        "#token mean",
        if is_made_logged { "#loss made and logged" } else { "#loss made" },
        "#loss off (%)",
        "#loss logged",
        "#log off (%)",
        "#count off (%)",
        "#worst weight off (%)",
        "#gradient off (%)",
        "#gradient cosine",
        "#logged gradient off (%)",
        "#norm off (%)",
    ]);
    let is_token_mean = receipt.formula.as_deref() == Some("token-mean/1");
    for (drift, window) in shown {
        let loss = |loss: Option<Finite>| Cell::or_empty(loss.map(|loss| Cell::exact(loss.get())));
        let percent = |ratio: Option<f64>| Cell::or_empty(ratio.map(Cell::percent));
        table.push(vec![
            Cell::count(window.window.get()),
            Cell::count(window.microbatches.get()),
            Cell::count(window.valid_targets.get()),
            loss(window.loss),
            loss(window.full_batch.loss.filter(|_| !is_token_mean)),
            loss(window.accumulated.loss),
            percent(drift.loss),
            loss(logged(window).map(|loss| loss.recorded).filter(|_| !is_made_logged)),
            percent(drift.logged.filter(|_| !is_made_logged)),
            percent(drift.denominator),
            percent(drift.weight),
            percent(drift.gradient),
            Cell::or_empty(drift.cosine.map(Cell::ratio)),
            percent(drift.logged_gradient),
            percent(drift.norm),
        ]);
    }
    if off.len() > SHOWN {
        let rest = words::count((off.len() - SHOWN) as u64, "more window");
        table.left_out = Some(format!("{rest}, less far off, not shown."));
    }
    table.without_empty_columns()
}

//! What a mean of means would have made of this run: the worst window, worked by hand.
use crate::canonical::Count;
use crate::canonical::Finite;
use crate::ledger::counterexample::CounterexampleReport;
use crate::receipt::document::Receipt;
use crate::report::layout::Block;
use crate::report::layout::Section;
use crate::report::layout::Table;
use crate::report::layout::table::Cell;
use crate::report::number;
use crate::report::words;

/// Microbatches shown.
const SHOWN: usize = 12;

/// What a mean of means would have made; absent where nothing was computed.
pub(super) fn section(receipt: &Receipt) -> Option<Section> {
    let example = receipt.counterexample.as_ref()?;
    let is_control = receipt.diagnosis.as_ref().is_some_and(|diagnosis| diagnosis.control);
    let introduction = match example.window {
        Some(window) if is_control => format!("Window {window}. The run is a control all the same: see its diagnosis."),
        Some(window) => format!("Window {window}, where it is furthest off."),
        None if is_control => "This run is a control: it cannot tell the declared recipe from another one, so that \
                               agreeing proves little. The usual example shows what it could not show:"
            .to_owned(),
        None => "No window of this run can show it, so here is the usual example:".to_owned(),
    };
    Some(
        Section::new("What a mean of means would make of it")
            .paragraph(introduction)
            .with(Block::Table(table(example)))
            .paragraph(worked(example)),
    )
}

fn table(example: &CounterexampleReport) -> Table {
    let mut table = Table::new(&["#microbatch", "#valid targets n", "#summed loss ℓ", "#mean ℓ/n (nats per target)"]);
    let rows = example.valid_targets.iter().zip(&example.loss_sums);
    for (index, (targets, sum)) in rows.take(SHOWN).enumerate() {
        let mean = (targets.get() > 0).then(|| Cell::exact(mean(*targets, *sum)));
        table.push(vec![
            Cell::count(index as u64),
            Cell::count(targets.get()),
            Cell::exact(sum.get()),
            Cell::or_empty(mean),
        ]);
    }
    let more = example.valid_targets.len().saturating_sub(SHOWN);
    if more > 0 {
        table.left_out = Some(format!("{}, not shown.", words::count(more as u64, "more microbatch")));
    }
    table
}

fn mean(targets: Count, sum: Finite) -> f64 {
    sum.get() / targets.to_f64()
}

fn worked(example: &CounterexampleReport) -> String {
    let relative = match example.relative_drift {
        Some(relative) => format!(", {} of it", number::percent(relative.get())),
        None => String::new(),
    };
    let targets: u64 = example.valid_targets.iter().map(|targets| targets.get()).sum();
    format!(
        "All losses over all {targets} targets: {}. The mean of the {} means: {}. They differ by {}{relative}.",
        number::exact(example.loss.get()),
        example.valid_targets.len(),
        number::exact(example.mean_of_means.get()),
        number::exact(example.absolute_drift.get()),
    )
}

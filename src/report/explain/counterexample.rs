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

/// Microbatches that a receipt holds of the example at most: of so many there may be more.
const RECORDED: usize = 64;

/// What a mean of means would have made; absent where nothing was computed.
pub(super) fn section(receipt: &Receipt) -> Option<Section> {
    let example = receipt.counterexample.as_ref()?;
    let is_control = receipt.diagnosis.as_ref().is_some_and(|diagnosis| diagnosis.control);
    let introduction = match example.window {
        Some(window) => format!("In window {window}, where it is furthest from the token mean:"),
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
        let mean = (targets.get() > 0).then(|| Cell::ratio(mean(*targets, *sum)));
        table.push(vec![
            Cell::count(index as u64),
            Cell::count(targets.get()),
            Cell::exact(sum.get()),
            Cell::or_empty(mean),
        ]);
    }
    let more = example.valid_targets.len().saturating_sub(SHOWN);
    if more > 0 {
        let or_more = if example.valid_targets.len() >= RECORDED { " or more" } else { "" };
        table.left_out = Some(format!("{}{or_more}, not shown.", words::count(more as u64, "more microbatch")));
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
    format!(
        "All losses over all targets: {}. The mean of the means: {}. They differ by {}{relative}.",
        number::exact(example.loss.get()),
        number::exact(example.mean_of_means.get()),
        number::ratio(example.absolute_drift.get()),
    )
}

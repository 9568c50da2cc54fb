//! What a mean of means would have made of this run: the worst window, worked by hand.
use crate::canonical::Count;
use crate::canonical::Finite;
use crate::ledger::counterexample::CounterexampleReport;
use crate::receipt::document::Receipt;
use crate::receipt::document::Verdict;
use crate::report::headline;
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
    let section = Section::new("What a mean of means would make of it");
    let introduction = match example.window {
        Some(window) => format!("In window {window} it is furthest from the token mean"),
        None if is_control => "This run is a control: it cannot tell the declared recipe from another one, so that \
                               agreeing proves little."
            .to_owned(),
        None => "No window of this run can show it.".to_owned(),
    };
    Some(match example.window {
        None => section.paragraph(introduction),
        Some(_) if !is_about_arithmetic(receipt) => section.paragraph(format!("{introduction}. {}", worked(example))),
        Some(_) => section
            .paragraph(format!("{introduction}:"))
            .with(Block::Table(table(example, &labels(receipt, example))))
            .paragraph(worked(example)),
    })
}

/// Whether the run is violated by its arithmetic, so that its numbers are worth a table.
fn is_about_arithmetic(receipt: &Receipt) -> bool {
    receipt.verdict == Verdict::Violated
        && headline::root_causes(receipt).any(|finding| finding.code.as_str().starts_with("GA2"))
}

/// Which microbatch a row is.
struct Label {
    /// Its rank.
    rank: u64,
    /// Its index among the rank's microbatches of the window.
    index: u64,
    /// Its name, where the receipt holds it.
    name: Option<String>,
}

/// The labels of an example's rows, from the receipt's microbatches, else from its counts of backwards by rank; empty
/// where neither fits the example.
fn labels(receipt: &Receipt, example: &CounterexampleReport) -> Vec<Label> {
    let microbatches = receipt.microbatches.iter().flatten().filter(|each| Some(each.window) == example.window);
    let labels: Vec<Label> = microbatches
        .zip(&example.valid_targets)
        .take_while(|(each, targets)| each.valid_targets == **targets)
        .map(|(each, _)| Label {
            rank: each.rank.get(),
            index: each.backward_index.get(),
            name: Some(each.microbatch.as_str().to_owned()),
        })
        .collect();
    if labels.len() == example.valid_targets.len() { labels } else { counted(receipt, example) }
}

/// Ranks and indices by the backwards that each rank did; empty where they are not all of the window's microbatches.
fn counted(receipt: &Receipt, example: &CounterexampleReport) -> Vec<Label> {
    let mut windows = receipt.windows.iter().flatten();
    let Some(window) = windows.find(|window| Some(window.window) == example.window) else { return Vec::new() };
    let ranks = receipt.contract.as_ref().map_or(1, |contract| contract.world_size.get());
    let backwards = |rank: u64| match &window.clock_by_rank {
        Some(clocks) => usize::try_from(rank).ok().and_then(|rank| clocks.get(rank)).map_or(0, |clock| clock.backward),
        None => window.clock.backward,
    };
    // A receipt may claim any number of ranks: no more than it has microbatches can have done a backward.
    let ranks = ranks.min(window.microbatches.get());
    if (0..ranks).map(backwards).fold(0, u64::saturating_add) != window.microbatches.get() {
        return Vec::new();
    }
    let of_rank = |rank| (0..backwards(rank)).map(move |index| Label { rank, index, name: None });
    (0..ranks).flat_map(of_rank).take(example.valid_targets.len()).collect()
}

fn table(example: &CounterexampleReport, labels: &[Label]) -> Table {
    let mut table = Table::new(&[
        "microbatch",
        "#rank",
        "#index",
        "#valid targets n",
        "#summed loss ℓ",
        "#mean ℓ/n (nats per target)",
    ]);
    let rows = example.valid_targets.iter().zip(&example.loss_sums);
    for (row, (targets, sum)) in rows.take(SHOWN).enumerate() {
        let mean = (targets.get() > 0).then(|| Cell::ratio(mean(*targets, *sum)));
        let label = labels.get(row);
        table.push(vec![
            Cell::or_empty(label.and_then(|label| label.name.clone()).map(Cell::Name)),
            Cell::or_empty(label.map(|label| Cell::count(label.rank))),
            Cell::count(label.map_or(row as u64, |label| label.index)),
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
    table.without_empty_columns()
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

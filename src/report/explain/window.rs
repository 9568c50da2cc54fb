//! One window, microbatch by microbatch, with a picture of what a target counted for.
use super::NoSuchWindow;
use crate::canonical::Finite;
use crate::clock::Counts;
use crate::receipt::document::MicrobatchReport;
use crate::receipt::document::Receipt;
use crate::receipt::document::WindowReport;
use crate::report::layout::Bars;
use crate::report::layout::Block;
use crate::report::layout::Line;
use crate::report::layout::Section;
use crate::report::layout::Table;
use crate::report::layout::table::Cell;
use crate::report::number;
use crate::report::words;

/// Microbatches shown; of more, those that are furthest off.
const SHOWN: usize = 32;

/// The window that was asked for.
pub(super) fn section(receipt: &Receipt, asked: u64) -> Result<Section, NoSuchWindow> {
    let (Some(windows), Some(microbatches)) = (&receipt.windows, &receipt.microbatches) else {
        return Err(NoSuchWindow::NoDetail);
    };
    let Some(window) = windows.iter().find(|window| window.window.get() == asked) else {
        let has: Vec<_> = windows.iter().map(|window| window.window).collect();
        let has = if has.is_empty() { "none".to_owned() } else { words::windows(&has, false) };
        return Err(NoSuchWindow::Unknown { asked, has });
    };
    let (shown, left_out) = chosen(microbatches.iter().filter(|each| each.window.get() == asked).collect());
    let section = Section::new(format!("Window {asked}")).with(Block::Facts(facts(window, ranks(receipt))));
    let section = section.with(Block::Table(table(&shown, left_out)));
    Ok(match picture(&shown) {
        Some(bars) => section
            .paragraph("What one target counted for, as a multiple of its fair share. A right bar ends at the line.")
            .with(Block::Bars(bars)),
        None => section.paragraph("No weight was seen in this window, so there is no picture of it."),
    })
}

/// In their order if there are few, else those that are furthest off, and how many are left out.
pub(in crate::report) fn chosen(mut microbatches: Vec<&MicrobatchReport>) -> (Vec<&MicrobatchReport>, usize) {
    let left_out = microbatches.len().saturating_sub(SHOWN);
    if left_out > 0 {
        let off = |microbatch: &MicrobatchReport| share(microbatch).map_or(0.0, |share| (share - 1.0).abs());
        microbatches.sort_by(|left, right| off(right).total_cmp(&off(left)));
        microbatches.truncate(SHOWN);
    }
    (microbatches, left_out)
}

/// What a target counted for over its fair share.
pub(in crate::report) fn share(microbatch: &MicrobatchReport) -> Option<f64> {
    let (seen, declared) = microbatch.weight_seen.zip(microbatch.weight_declared)?;
    Some(seen.get() / declared.get()).filter(|share| share.is_finite())
}

/// W.
fn ranks(receipt: &Receipt) -> u64 {
    receipt.contract.as_ref().map_or(1, |contract| contract.world_size.get())
}

fn facts(window: &WindowReport, ranks: u64) -> Vec<(&'static str, Line)> {
    let mut facts = vec![(
        "holds",
        Line::from(format!(
            "{}, {}{}",
            words::count(window.microbatches.get(), "microbatch"),
            words::count(window.valid_targets.get(), "valid target"),
            if ranks > 1 { format!(", over all {ranks} ranks") } else { String::new() }
        )),
    )];
    let losses = [
        ("declared", window.loss),
        ("made", window.accumulated.loss),
        ("logged", window.logged.iter().find_map(|claim| claim.loss).map(|loss| loss.recorded)),
        ("mean of means", window.mean_of_means.loss),
    ];
    let loss = |(name, loss): (&str, Option<Finite>)| loss.map(|loss| format!("{name} {}", number::exact(loss.get())));
    let losses: Vec<String> = losses.into_iter().filter_map(loss).collect();
    facts.push(("losses", format!("{} (nats per target)", losses.join(", ")).into()));
    let outcome = match (window.outcome, window.update_index) {
        (Some(outcome), Some(index)) => format!("update {index}, {outcome:?}").to_lowercase(),
        _ => "no update".to_owned(),
    };
    let tail = window.tail.map_or(String::new(), |tail| format!("; a short window ({})", tail.as_str()));
    facts.push(("update", format!("{outcome}{tail}").into()));
    match &window.clock_by_rank {
        Some(ranks) => {
            let text = ranks.iter().enumerate().map(|(rank, counts)| format!("rank {rank}: {}", clock(counts)));
            facts.push(("events", text.collect::<Vec<_>>().join("; ").into()));
        }
        None => {
            let each = if ranks > 1 { "on each rank: " } else { "" };
            facts.push(("events", format!("{each}{}", clock(&window.clock)).into()));
        }
    }
    facts
}

/// The events that there were, in the order of an update.
fn clock(counts: &Counts) -> String {
    let events = [
        (counts.zero_grad, "zero_grad"),
        (counts.backward, "backward"),
        (counts.rescale, "rescale"),
        (counts.unscale, "unscale"),
        (counts.clip, "clip"),
        (counts.optimizer_step, "optimizer_step"),
        (counts.scaler_update, "scaler_update"),
        (counts.scheduler_step, "scheduler_step"),
    ];
    let there = events.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} × {name}"));
    there.collect::<Vec<_>>().join(", ")
}

fn table(microbatches: &[&MicrobatchReport], left_out: usize) -> Table {
    let mut table = Table::new(&[
        "microbatch",
        "#rank",
        "#n",
        "#summed loss",
        "#mean (nats per target)",
        "#weight declared",
        "#weight seen",
        "#seen over declared",
        "sync",
    ]);
    for microbatch in microbatches {
        let n = microbatch.valid_targets;
        let mean = microbatch.loss_sum.filter(|_| n.get() > 0).map(|sum| sum.get() / n.to_f64());
        let number = |value: Option<f64>| Cell::or_empty(value.map(Cell::exact));
        let ratio = |value: Option<f64>| Cell::or_empty(value.map(Cell::ratio));
        table.push(vec![
            Cell::Name(microbatch.microbatch.as_str().to_owned()),
            Cell::count(microbatch.rank.get()),
            Cell::count(n.get()),
            number(microbatch.loss_sum.map(|sum| sum.get())),
            ratio(mean),
            ratio(microbatch.weight_declared.map(|weight| weight.get())),
            ratio(microbatch.weight_seen.map(|weight| weight.get())),
            Cell::or_empty(share(microbatch).map(Cell::near_one)),
            Cell::or_empty(microbatch.sync.map(|sync| Cell::Text(if sync { "yes" } else { "no" }.to_owned()))),
        ]);
    }
    if left_out > 0 {
        table.left_out =
            Some(format!("{}, less far off, not shown.", words::count(left_out as u64, "more microbatch")));
    }
    table.without_empty_columns()
}

/// A bar for each microbatch whose weight was seen.
fn picture(microbatches: &[&MicrobatchReport]) -> Option<Bars> {
    let label =
        |each: &MicrobatchReport| format!("rank {} #{}, n {}", each.rank, each.backward_index, each.valid_targets);
    let rows: Vec<_> = microbatches.iter().filter_map(|each| Some((label(each), share(each)?))).collect();
    (!rows.is_empty()).then_some(Bars { rows })
}

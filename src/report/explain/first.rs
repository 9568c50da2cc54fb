//! Where first: the place at which to look.
use crate::receipt::document::FindingReport;
use crate::receipt::document::MicrobatchReport;
use crate::receipt::document::Receipt;
use crate::report::Shown;
use crate::report::findings;
use crate::report::headline;
use crate::report::layout::Block;
use crate::report::layout::Line;
use crate::report::layout::Section;
use crate::report::number;

/// Where first; absent where nothing is wrong.
pub(super) fn section(shown: &Shown<'_>) -> Option<Section> {
    let receipt = shown.receipt;
    let finding = earliest(receipt).or_else(|| receipt.findings.first())?;
    let window = finding.windows.first().map(|window| window.get()).or(finding.place.window);
    let microbatch = window.and_then(|window| first_off(receipt, window));
    let mut facts = vec![("rule", Line::new().name(finding.code.as_str()).text(format!(" {}", finding.name)))];
    if let Some(window) = window {
        facts.push(("window", window.to_string().into()));
    }
    // The place is that of the worst instance: it is the first one's only where both are in one window.
    let is_here = finding.place.window == window;
    if let Some(rank) = finding.place.rank.filter(|_| is_here) {
        facts.push(("rank", rank.to_string().into()));
    }
    if let Some(event) = finding.place.event.filter(|_| is_here) {
        facts.push(("event", format!("{event} of the rank, counted from 0").into()));
    }
    if let Some(field) = finding.place.field.as_ref().filter(|_| is_here) {
        facts.push(("field", Line::new().name(&**field)));
    }
    if let Some(origin) = origin(shown, finding).filter(|_| is_here) {
        facts.push(("file", Line::new().name(origin)));
    }
    facts.extend(microbatch.map(|microbatch| ("microbatch", described(microbatch))));
    let mut section = Section::new("Where first").with(Block::Facts(facts));
    if let Some(window) = window.filter(|_| receipt.microbatches.is_some()) {
        let line = Line::new().text("Microbatch by microbatch: ");
        section = section.paragraph(line.code(format!("receipt explain {} --window {window}", shown.subject)));
    }
    Some(section)
}

/// The cause that shows first.
fn earliest(receipt: &Receipt) -> Option<&FindingReport> {
    headline::root_causes(receipt).min_by_key(|finding| finding.windows.first())
}

/// The first microbatch of a window whose weight is off.
fn first_off(receipt: &Receipt, window: u64) -> Option<&MicrobatchReport> {
    let relative = receipt.contract.as_ref()?.tolerance.relative.get();
    let is_off = |microbatch: &&MicrobatchReport| {
        let weights = microbatch.weight_declared.zip(microbatch.weight_seen);
        weights.is_some_and(|(declared, seen)| (seen.get() / declared.get() - 1.0).abs() > relative)
    };
    let mut of_window = receipt.microbatches.iter().flatten().filter(|microbatch| microbatch.window.get() == window);
    of_window.find(is_off)
}

fn described(microbatch: &MicrobatchReport) -> Line {
    let line = Line::new().name(microbatch.microbatch.as_str());
    let Some((declared, seen)) = microbatch.weight_declared.zip(microbatch.weight_seen) else { return line };
    line.text(format!(
        " (rank {}, backward {}): weight {} where {} was declared, {} times its fair share",
        microbatch.rank,
        microbatch.backward_index,
        number::ratio(seen.get()),
        number::ratio(declared.get()),
        number::near_one(seen.get() / declared.get())
    ))
}

/// File, line and column, where the source is at hand.
fn origin(shown: &Shown<'_>, finding: &FindingReport) -> Option<String> {
    let index = shown.receipt.findings.iter().position(|other| std::ptr::eq(other, finding))?;
    let excerpt = shown.excerpts_of(index).first()?;
    Some(findings::origin(&excerpt.snippet)).filter(|origin| !origin.is_empty())
}

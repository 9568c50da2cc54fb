//! Where worst: the one place at which to look, that of the worst instance of the worst cause.
use crate::finding::Code;
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

/// Where worst; absent where nothing is wrong.
pub(super) fn section(shown: &Shown<'_>) -> Option<Section> {
    let receipt = shown.receipt;
    let finding = headline::root_causes(receipt).next().or_else(|| receipt.findings.first())?;
    let window = window(finding);
    let mut section = Section::new("Where worst").with(Block::Facts(facts(shown, finding)));
    if let Some(window) = window.filter(|_| receipt.microbatches.is_some()) {
        let line = Line::new().text("Microbatch by microbatch: ");
        section = section.paragraph(line.code(format!("receipt explain {} --window {window}", shown.subject)));
    }
    Some(section)
}

/// Everything that is known of the worst instance's place.
fn facts(shown: &Shown<'_>, finding: &FindingReport) -> Vec<(&'static str, Line)> {
    let place = &finding.place;
    let mut facts = vec![("rule", Line::new().name(finding.code.as_str()).text(format!(" {}", finding.name)))];
    facts.extend(window(finding).map(|window| ("window", window.to_string().into())));
    facts.extend(place.rank.map(|rank| ("rank", rank.to_string().into())));
    facts.extend(place.event.map(|event| ("event", format!("{event} of the rank, counted from 0").into())));
    facts.extend(place.field.as_ref().map(|field| ("field", Line::new().name(&**field))));
    facts.extend(origin(shown, finding).map(|origin| ("file", Line::new().name(origin))));
    facts.extend(most_off(shown.receipt, finding).map(|microbatch| ("microbatch", described(microbatch))));
    facts
}

/// The window of the worst instance; of an instance without one, the only window that the finding names.
fn window(finding: &FindingReport) -> Option<u64> {
    finding.place.window.or(match finding.windows.as_slice() {
        [window] => Some(window.get()),
        _ => None,
    })
}

/// The microbatch of a weight that is off: GA203 points at the one that is furthest off in its window.
fn most_off<'a>(receipt: &'a Receipt, finding: &FindingReport) -> Option<&'a MicrobatchReport> {
    let place = Some(&finding.place).filter(|_| finding.code == Code::GA203)?;
    let of_place = receipt.microbatches.iter().flatten().filter(|microbatch| {
        Some(microbatch.window.get()) == place.window && Some(microbatch.rank.get()) == place.rank
    });
    let off = |microbatch: &MicrobatchReport| {
        let (declared, seen) = microbatch.weight_declared.zip(microbatch.weight_seen)?;
        Some((seen.get() / declared.get() - 1.0).abs())
    };
    // The first among equals, as the rule has it.
    let further = |worst: Option<(f64, &'a MicrobatchReport)>, microbatch: &'a MicrobatchReport| match off(microbatch) {
        Some(off) if worst.is_none_or(|(worst, _)| off > worst) => Some((off, microbatch)),
        _ => worst,
    };
    of_place.fold(None, further).map(|(_, microbatch)| microbatch)
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

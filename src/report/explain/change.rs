//! What to change: the recipe's remedy, then what the pages of the causes say.
use crate::receipt::document::FindingReport;
use crate::receipt::document::Receipt;
use crate::receipt::document::Verdict;
use crate::report::headline;
use crate::report::headline::Headline;
use crate::report::layout::Block;
use crate::report::layout::Line;
use crate::report::layout::Section;
use crate::report::layout::prose;
use crate::report::plain;
use crate::report::words;

/// What to change; absent where no finding is an error, and where the first lines of a short report have said it.
pub(super) fn section(receipt: &Receipt) -> Option<Section> {
    let remedy = headline::followed(receipt).filter(|followed| !followed.is_only_log);
    let remedy = remedy.map(|followed| prose::spans(&words::stopped(&followed.recipe.change)));
    let said = Headline::of(receipt).change.filter(|_| receipt.verdict == Verdict::Rejected);
    let is_said = |cause: &&FindingReport| said.as_ref() == Some(&plain::one_line(&page(cause)));
    let (said, causes): (Vec<_>, Vec<_>) = headline::root_causes(receipt).partition(is_said);
    if causes.is_empty() {
        return None;
    }
    let title = if said.is_empty() { "What to change" } else { "What else to change" };
    let section = remedy.into_iter().fold(Section::new(title), Section::paragraph);
    Some(causes.into_iter().fold(section, |section, cause| {
        let name = Line::new().name(cause.code.as_str()).text(format!(" {}: ", cause.name));
        prose::blocks(&page(cause)).into_iter().enumerate().fold(section, |section, (index, block)| match block {
            Block::Paragraph(line) if index == 0 => section.paragraph(name.clone().join(line)),
            block => section.with(block),
        })
    }))
}

fn page(cause: &FindingReport) -> String {
    plain::section_of(cause.code, "What to do")
}

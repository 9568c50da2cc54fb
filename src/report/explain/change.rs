//! What to change: the recipe's remedy, then what the pages of the causes say.
use crate::receipt::document::Receipt;
use crate::report::headline;
use crate::report::layout::Block;
use crate::report::layout::Line;
use crate::report::layout::Section;
use crate::report::layout::prose;
use crate::report::plain;

/// What to change; absent where no finding is an error.
pub(super) fn section(receipt: &Receipt) -> Option<Section> {
    let mut causes = headline::root_causes(receipt).peekable();
    causes.peek()?;
    let mut section = Section::new("What to change");
    if let Some(followed) = headline::followed(receipt) {
        section = section.paragraph(format!("{}.", followed.recipe.change));
    }
    for cause in causes {
        let blocks = prose::blocks(&plain::section_of(cause.code, "What to do"));
        let name = Line::new().name(cause.code.as_str()).text(format!(" {}: ", cause.name));
        section = blocks.into_iter().enumerate().fold(section, |section, (index, block)| match block {
            Block::Paragraph(line) if index == 0 => section.paragraph(name.clone().join(line)),
            block => section.with(block),
        });
    }
    Some(section)
}

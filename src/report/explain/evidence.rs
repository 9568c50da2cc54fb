//! Evidence: what was recorded, and so what the verdict rests on.
use crate::ledger::evidence::Presence;
use crate::manifest::contract::Evidence;
use crate::receipt::document::Receipt;
use crate::report::layout::Block;
use crate::report::layout::Section;
use crate::report::layout::Table;
use crate::report::layout::table::Cell;
use crate::report::verdict;
use crate::report::words;

/// What was recorded; absent where nothing was computed.
pub(super) fn section(receipt: &Receipt) -> Option<Section> {
    let evidence = receipt.evidence.as_ref()?;
    let mut table = Table::new(&["evidence", "recorded in", "what it shows", "from"]);
    let mut missing = Vec::new();
    for (&kind, presence) in evidence {
        let presence = match presence {
            Presence::All => "all windows",
            Presence::Some => "some windows",
            Presence::None => {
                missing.push(format!("{} ({})", verdict::kind_in_words(kind), about(kind).0));
                continue;
            }
        };
        let (shows, from) = about(kind);
        let cells = [verdict::kind_in_words(kind), presence, shows, from];
        table.push(cells.map(|text| Cell::Text(text.to_owned())).to_vec());
    }
    let mut section = Section::new("What the verdict rests on");
    section = match table.rows.is_empty() {
        true => section.paragraph("The order and number of events alone."),
        false => section.with(Block::Table(table)).paragraph("And the order and number of events."),
    };
    Some(match missing.is_empty() {
        true => section,
        false => section.paragraph(format!("Not recorded, so not judged: {}.", words::list(&missing))),
    })
}

/// What a kind of evidence can show, and which field holds it.
fn about(kind: Evidence) -> (&'static str, &'static str) {
    match kind {
        Evidence::Weights => ("what each microbatch counted for in the gradient", "backward_loss"),
        Evidence::Loss => ("whether the log tells the loss of the update", "logged.loss"),
        Evidence::Denominator => ("by what the run divided", "logged.denominator"),
        Evidence::Gradient => ("whether the gradients add up", "gradient_sum, logged.gradient"),
        Evidence::Norm => ("the size of the gradient before clipping", "logged.grad_norm, clip.norm"),
        Evidence::LearningRate => ("whether the schedule is in step", "learning_rate"),
        Evidence::Accumulated => ("whether buffers were added to, not overwritten", "accumulated"),
        Evidence::Parameters => ("whether the weights moved as declared", "parameters"),
    }
}

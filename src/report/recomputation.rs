//! What recomputing retains and replays, as four answers.
use crate::replay::Recomputation;
use crate::report::layout::Block;
use crate::report::layout::Line;
use crate::report::layout::Section;
use crate::report::words;

/// The section of `receipt replay`.
pub(super) fn section(recomputation: &Recomputation) -> Section {
    let Recomputation { positions, retained_bytes, retained_bytes_recorded, recipe_values, .. } = recomputation;
    let nodes = recomputation.recompute_nodes.get();
    let figures = format!(
        "One pass over one full row of {}: {retained_bytes} bytes are retained ({recipe_values} numbers of them in recipes), \
         {retained_bytes_recorded} where everything is recorded; {} no tape.",
        words::count(positions.get(), "position"),
        if nodes == 1 { "1 segment leaves".to_owned() } else { format!("{nodes} segments leave") },
    );
    let identical = match recomputation.identical {
        true => "Loss and gradient have the same bits either way.",
        false => "Loss and gradient have other bits than where everything is recorded: this is a bug of receipt.",
    };
    let answers = [
        ("retained", &recomputation.retained),
        ("replayed", &recomputation.replayed),
        ("deterministic", &recomputation.deterministic),
        ("kind of figure", &recomputation.kind),
    ];
    let facts = answers.map(|(question, answer)| (question, Line::from(answer.as_str()))).to_vec();
    Section::new("What recomputing retains and replays")
        .paragraph(figures)
        .paragraph(identical)
        .with(Block::Facts(facts))
}

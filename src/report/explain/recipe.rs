//! Which recipe explains what happened.
use super::declared::arithmetic;
use crate::ledger::diagnosis::DiagnosisReport;
use crate::receipt::document::Receipt;
use crate::report::layout::Block;
use crate::report::layout::Line;
use crate::report::layout::Section;
use crate::report::recipes;
use crate::report::recipes::Recipe;

/// Recipes described of those that fit; the others are named.
const DESCRIBED: usize = 2;

/// Which recipe explains what happened; absent where nothing was computed.
pub(super) fn section(receipt: &Receipt) -> Option<Section> {
    let diagnosis = receipt.diagnosis.as_ref()?;
    let mut section = Section::new("Which recipe explains it");
    if !diagnosis.text.is_empty() {
        section = section.paragraph(sentence(&diagnosis.text));
    }
    let parts = [
        (&diagnosis.recipes, "It explains every judged window."),
        (&diagnosis.full_windows, "It explains the full windows."),
        (&diagnosis.short_windows, "It explains the short windows."),
    ];
    let mut has_formula = false;
    for (names, scope) in parts.into_iter().filter(|(names, _)| !names.is_empty()) {
        for name in names.iter().take(DESCRIBED) {
            section = section.with(described(name, scope));
            has_formula = true;
        }
        if names.len() > DESCRIBED {
            let others = names[DESCRIBED..].join(", ");
            section = section.paragraph(format!("Not told apart from it by this run: {others}."));
        }
    }
    if has_formula {
        section = section.paragraph(recipes::LETTERS);
    }
    Some(closing(section, diagnosis))
}

fn closing(mut section: Section, diagnosis: &DiagnosisReport) -> Section {
    if let Some(precision) = diagnosis.precision {
        section = section.paragraph(format!(
            "It fits only as closely as {} rounds: the loss was computed in it, whatever the contract says.",
            arithmetic(precision)
        ));
    }
    section
}

fn described(name: &str, scope: &str) -> Block {
    let Some(Recipe { formula, did, effect, seen_in, .. }) = recipes::find(name) else {
        return Block::Paragraph(Line::new().name(name).text(": this version has no description of it."));
    };
    let mut facts = vec![
        ("recipe", Line::new().name(name).text(format!(", weight f = {formula}. {scope}"))),
        ("it", format!("{did}. {effect}").into()),
    ];
    if !seen_in.is_empty() {
        facts.push(("seen in", seen_in.into()));
    }
    Block::Facts(facts)
}

fn sentence(text: &str) -> String {
    if text.ends_with(['.', '?', '!']) { text.to_owned() } else { format!("{text}.") }
}

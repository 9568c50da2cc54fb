//! Which recipe explains what happened.
use super::declared::arithmetic;
use crate::receipt::document::Receipt;
use crate::report::layout::Block;
use crate::report::layout::Line;
use crate::report::layout::Section;
use crate::report::layout::prose;
use crate::report::recipes;
use crate::report::recipes::Recipe;
use crate::report::words;

/// Which recipe explains what happened: the simplest of those that fit is described, the diagnosis names the others;
/// absent where nothing was computed.
pub(super) fn section(receipt: &Receipt) -> Option<Section> {
    let diagnosis = receipt.diagnosis.as_ref()?;
    let mut section = Section::new("Which recipe explains it");
    if !diagnosis.text.is_empty() {
        section = section.paragraph(words::sentence(&diagnosis.text));
    }
    if is_declared(receipt, &diagnosis.recipes) {
        return Some(section.paragraph("That is what was declared: the weights are right."));
    }
    let parts = [
        (diagnosis.full_windows.as_slice(), "It explains the windows of K microbatches."),
        (diagnosis.short_windows.as_slice(), "It explains the other windows."),
    ];
    let everywhere = [(diagnosis.recipes.as_slice(), "It explains every judged window.")];
    let parts = if diagnosis.recipes.is_empty() { parts.as_slice() } else { everywhere.as_slice() };
    let mut formulas = String::new();
    for (names, scope) in parts {
        if let Some(recipe) = names.first().and_then(|name| recipes::find(name)) {
            formulas.push_str(&recipe.formula);
            section = section.with(described(recipe, scope));
        }
    }
    if !formulas.is_empty() {
        section = section.paragraph(recipes::letters(&formulas));
    }
    if let Some(precision) = diagnosis.precision {
        section = section.paragraph(format!(
            "It fits only as closely as {} rounds: the loss was computed in it, whatever the contract says.",
            arithmetic(precision)
        ));
    }
    Some(section)
}

fn is_declared(receipt: &Receipt, recipes: &[String]) -> bool {
    let declared = receipt.formula.as_deref().and_then(recipes::declared);
    declared.is_some_and(|declared| recipes.contains(&declared.name))
}

fn described(recipe: Recipe, scope: &str) -> Block {
    let Recipe { name, formula, did, effect, seen_in, .. } = recipe;
    let mut facts = vec![
        ("recipe", Line::new().name(name).text(format!(", weight f = {formula}. {scope}"))),
        ("in words", format!("{} {effect}", words::sentence(&did)).into()),
    ];
    if !seen_in.is_empty() {
        facts.push(("seen in", prose::spans(seen_in)));
    }
    Block::Facts(facts)
}

//! A recipe's page: what the name in a diagnosis stands for.
use super::Style;
use super::layout;
use super::layout::Line;
use super::layout::Section;
use super::layout::prose;
use super::layout::text;
use super::recipes;
use super::recipes::Recipe;
use super::words;

/// What `receipt explain mean-of-means` prints.
pub fn page(recipe: &Recipe, style: Style) -> String {
    let title = Line::new().strong(recipe.name.clone());
    format!(
        "{}{}\n{}",
        text::unbroken(&title, style),
        text::paragraph(&summary(recipe).into(), style),
        text::sections(&sections(recipe), style)
    )
}

/// What `receipt explain mean-of-means --format markdown` prints.
pub fn markdown(recipe: &Recipe) -> String {
    let summary = layout::markdown::line(&summary(recipe).into());
    format!("# {}\n\n{summary}\n{}", recipe.name, layout::markdown::sections(&sections(recipe)))
}

/// What was done in a run that follows it.
pub(super) fn summary(recipe: &Recipe) -> String {
    format!("A recipe by which a run can weight its microbatches. {}", words::sentence(&recipe.did))
}

/// The page's sections.
pub(super) fn sections(recipe: &Recipe) -> Vec<Section> {
    let weight = Section::new("The weight of a microbatch's summed loss").paragraph(format!("f = {}", recipe.formula));
    let mut sections = vec![
        weight.paragraph(recipes::letters(&recipe.formula)),
        Section::new("What that does").paragraph(recipe.effect.clone()),
    ];
    if !recipe.seen_in.is_empty() {
        sections.push(Section::new("Seen in").paragraph(prose::spans(&words::sentence(recipe.seen_in))));
    }
    sections.push(Section::new("What to change").paragraph(prose::spans(&words::sentence(&recipe.change))));
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_what_the_name_stands_for() {
        let recipe = recipes::find("world-size-lost").expect("a recipe");
        assert_eq!(
            page(&recipe, Style::plain(100)),
            "\
world-size-lost
A recipe by which a run can weight its microbatches. The loss was divided by all ranks' targets, and
the average over ranks (DDP, FSDP) divided by the number of ranks once more.

The weight of a microbatch's summed loss
  f = c/(N·W)

  f: what multiplies a microbatch's summed loss; N: the window's valid targets; W: ranks; c: W where
  gradients are averaged over ranks, else 1.

What that does
  Every update is W times too small: the average over ranks divides once more.

Seen in
  torchtune#2172, transformers#37474.

What to change
  Multiply the loss by the number of ranks where gradients are averaged over them (DDP, FSDP), or
  sum them.
"
        );
        assert!(markdown(&recipe).starts_with("# world-size-lost\n\nA recipe by which"), "{}", markdown(&recipe));
    }
}

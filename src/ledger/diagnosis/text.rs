//! The diagnosis in words: what was compared, what explains it, what can't be told apart, and what the weights look like
//! where nothing does.
use super::Diagnosis;
use super::candidate::Kind;
use super::conclude::Conclusion;
use super::conclude::SETS;
use super::conclude::names;
use super::recipe::Recipe;
use super::shape::Shape;
use super::shape::Tally;
use crate::numeric::shown::significant;

/// All of it, in sentences.
pub(super) fn text(diagnosis: &Diagnosis, conclusion: &Conclusion) -> String {
    let recorded = recorded(diagnosis, &Kind::ALL);
    if recorded.is_empty() {
        return "nothing was recorded that a recipe can be compared with".to_owned();
    }
    let mut sentences = Vec::new();
    let explained = explained(diagnosis, conclusion, &mut sentences);
    if !explained {
        unexplained(diagnosis, conclusion, &mut sentences);
        shapes(diagnosis, &mut sentences);
    }
    log_alone(conclusion, &mut sentences);
    sentences.join("; ")
}

/// What explains the run, if anything does.
fn explained(diagnosis: &Diagnosis, conclusion: &Conclusion, sentences: &mut Vec<String>) -> bool {
    if !conclusion.recipes.is_empty() {
        let based = basis(diagnosis, conclusion);
        sentences.push(format!("{based} follow {}", list(&conclusion.recipes)));
        apart(diagnosis, &conclusion.recipes, sentences);
        if !conclusion.controls.is_empty() {
            let controls: Vec<&str> = conclusion.controls.iter().map(|base| base.name()).collect();
            let named = controls.join(", ");
            sentences.push(format!("the run is a control: {named} would have recorded the same numbers"));
        }
        if let Some(precision) = conclusion.precision {
            let name = serde_json::to_string(&precision).unwrap_or_default();
            let name = name.trim_matches('"').to_owned();
            sentences.push(format!("only within the rounding of {name}, a lower precision than declared"));
        }
        if conclusion.is_partial {
            sentences.push("windows whose counts it needs were not all recorded are not judged by it".to_owned());
        }
        return true;
    }
    if conclusion.full.is_empty() && conclusion.short.is_empty() {
        return false;
    }
    let [k, not_k] = ["windows of K microbatches", "the other windows"];
    for (recipes, own, domain) in [(&conclusion.full, k, &diagnosis.full), (&conclusion.short, not_k, &diagnosis.other)]
    {
        match recipes.is_empty() {
            _ if domain.windows == 0 => {}
            true => sentences.push(format!("no recipe explains {own}")),
            false => sentences.push(format!("{own} follow {}", list(recipes))),
        }
    }
    if conclusion.full.is_empty() || conclusion.short.is_empty() {
        shapes(diagnosis, sentences);
    }
    true
}

/// Which numbers were used, and which were left out because nothing fits them too.
fn basis(diagnosis: &Diagnosis, conclusion: &Conclusion) -> String {
    let set = conclusion.set.unwrap_or(0);
    let used = recorded(diagnosis, SETS[set]).join(", ");
    let unused: Vec<&str> = recorded(diagnosis, &Kind::ALL);
    let unused: Vec<&str> = unused.into_iter().filter(|kind| !recorded(diagnosis, SETS[set]).contains(kind)).collect();
    if unused.is_empty() {
        return used;
    }
    format!("{used} (without the {}, which no recipe explains together with them)", unused.join(", "))
}

/// The kinds of a set that were recorded.
fn recorded(diagnosis: &Diagnosis, set: &[Kind]) -> Vec<&'static str> {
    let has = |kind: &&Kind| [&diagnosis.full, &diagnosis.other].iter().any(|domain| domain.recorded[**kind as usize]);
    set.iter().filter(has).map(|kind| kind.name()).collect()
}

/// That several recipes are named because these windows show no difference, and why not.
fn apart(diagnosis: &Diagnosis, recipes: &[Recipe], sentences: &mut Vec<String>) {
    if recipes.len() < 2 {
        return;
    }
    let facts = diagnosis.facts;
    let merged = |merge: &dyn Fn(Recipe) -> Recipe, recipes: &[Recipe]| {
        let mut merged: Vec<Recipe> = recipes.iter().map(|&recipe| merge(recipe)).collect();
        merged.sort();
        merged.dedup();
        merged
    };
    let mut why = Vec::new();
    let on_ranks = merged(&|recipe| recipe.on(facts.ranks), recipes);
    if on_ranks.len() < recipes.len() {
        why.push("there is one rank");
    }
    let full = if facts.all_full { merged(&Recipe::in_full_window, &on_ranks) } else { on_ranks.clone() };
    if full.len() < on_ranks.len() {
        why.push("every window has K microbatches");
    }
    if full.len() > 1 {
        why.push("their counts give too nearly the same weights");
    }
    sentences.push(format!("these windows cannot tell them apart: {}", why.join(", ")));
}

/// That nothing explains everything, and what almost does.
fn unexplained(diagnosis: &Diagnosis, conclusion: &Conclusion, sentences: &mut Vec<String>) {
    let kinds = recorded(diagnosis, &Kind::ALL).join(", ");
    sentences.push(format!("no known recipe explains the {kinds}"));
    if let Some((precision, recipes)) = &conclusion.undecided {
        let name = serde_json::to_string(precision).unwrap_or_default();
        let name = name.trim_matches('"');
        let recipes = list(recipes);
        sentences.push(format!("within the rounding of {name} several fit, which it cannot tell apart: {recipes}"));
    }
}

/// What the weights look like by themselves.
fn shapes(diagnosis: &Diagnosis, sentences: &mut Vec<String>) {
    let shapes = &diagnosis.shapes;
    let formula = diagnosis.contract.formula.as_str();
    if shapes.declared.count > 0 {
        sentences.push(format!("in {} the weights are those of {formula}", windows(&shapes.declared)));
    }
    if shapes.token_mean.count > 0 {
        sentences.push(format!("in {} all weights are equal and the denominator is N", windows(&shapes.token_mean)));
    }
    if let Some((Shape::Equal(denominator), valid_targets)) = shapes.equal.example {
        let window = shapes.equal.first[0];
        let excess = shapes.excess.filter(|_| shapes.fractional == 0);
        let relation = relation(excess, shapes.ratio);
        let what = match shapes.several {
            0 => "only one weight was recorded: its effective",
            _ => "all weights are equal, but the",
        };
        sentences.push(format!(
            "in {} {what} denominator is {relation}: in window {window} {} where N is {}",
            windows(&shapes.equal),
            number(denominator),
            valid_targets
        ));
        if shapes.missing == shapes.equal.count {
            sentences.push("a microbatch of a short window may be missing from the record".to_owned());
        }
    }
    if let Some((Shape::Groups(groups), valid_targets)) = &shapes.groups.example {
        let window = shapes.groups.first[0];
        let group = |&(denominator, count): &(f64, u64)| format!("{} for {count}", number(denominator));
        let groups: Vec<String> = groups.iter().take(4).map(group).collect();
        sentences.push(format!(
            "in {} weights are equal in groups: several denominators in one window (in window {window} {}, where N is \
             {valid_targets})",
            windows(&shapes.groups),
            groups.join(", ")
        ));
    }
    if let Some((Shape::Means(times), _)) = shapes.means.example {
        let times = number(times);
        let which = windows(&shapes.means);
        sentences.push(format!("in {which} weights are proportional to 1/n: {times} times the mean of means"));
    }
    if let Some((Shape::Targets(denominator), valid_targets)) = shapes.targets.example {
        sentences.push(format!(
            "in {} weights are proportional to n (n/{} in window {}, where N is {valid_targets}): `loss_sum` looks like a \
             mean and not a sum",
            windows(&shapes.targets),
            number(denominator),
            shapes.targets.first[0]
        ));
    }
    if shapes.other.count > 0 {
        sentences.push(format!("in {} weights follow no pattern known here", windows(&shapes.other)));
    }
}

/// How effective denominators compare with N, where that is the same in all windows.
fn relation(excess: Option<(f64, f64)>, ratio: Option<(f64, f64)>) -> String {
    let close = |(low, high): (f64, f64), slack: f64| (high - low <= slack).then_some(low.midpoint(high));
    let ratio = ratio.and_then(|(low, high)| close((low, high), 1e-3 * high.abs()));
    let difference = excess.and_then(|range| close(range, 0.25)).map(f64::round);
    match (difference, ratio) {
        (Some(difference), _) if difference >= 1.0 => format!("N + {difference}"),
        (Some(difference), _) if difference <= -1.0 => format!("N - {}", -difference),
        (_, Some(ratio)) => format!("{} N", number(ratio)),
        _ => "not N".to_owned(),
    }
}

/// That the log follows something of its own.
fn log_alone(conclusion: &Conclusion, sentences: &mut Vec<String>) {
    let differs = conclusion.logged.iter().any(|recipe| !conclusion.recipes.contains(recipe));
    let apart = conclusion.set.is_none_or(|set| set > 0);
    if differs && apart && !conclusion.logged.is_empty() {
        sentences.push(format!("the logged losses alone follow {}", list(&conclusion.logged)));
    }
}

/// Windows by number, as far as they are remembered.
fn windows(tally: &Tally) -> String {
    let named: Vec<String> = tally.first.iter().map(u64::to_string).collect();
    let rest = tally.count - named.len() as u64;
    let word = if tally.count == 1 { "window" } else { "windows" };
    match rest {
        0 => format!("{word} {}", named.join(", ")),
        rest => format!("{word} {} and {rest} more", named.join(", ")),
    }
}

/// A measured number without the digits that are noise.
fn number(value: f64) -> String {
    let nearest = value.round();
    if nearest != 0.0 && (value / nearest - 1.0).abs() < 1e-4 {
        return format!("{nearest}");
    }
    significant(value)
}

fn list(recipes: &[Recipe]) -> String {
    names(recipes).join(", ")
}

//! From what is left of the recipes to those that are named (MANIFEST.md §6, last paragraph).
use super::Diagnosis;
use super::Facts;
use super::candidate::ENOUGH_TELLING;
use super::candidate::Kind;
use super::domain::Domain;
use super::recipe::Factor;
use super::recipe::Recipe;
use crate::ledger::base::Base;
use crate::numeric::rounding::Arithmetic;

/// The sets of evidence that are tried, in order: everything, without the logged loss, the backward losses alone.
pub(super) const SETS: [&[Kind]; 3] =
    [&Kind::ALL, &[Kind::Weights, Kind::Gradient, Kind::Norm, Kind::Accumulated], &[Kind::Weights]];

/// What explains a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Conclusion {
    /// Explain every window, the simplest first, each once.
    pub(super) recipes: Vec<Recipe>,
    /// Explain the windows of K microbatches.
    pub(super) full: Vec<Recipe>,
    /// Explain the others.
    pub(super) short: Vec<Recipe>,
    /// Which evidence that rests on: position in [`SETS`].
    pub(super) set: Option<usize>,
    /// Other bases that explain the run as well as token-mean does.
    pub(super) controls: Vec<Base>,
    /// The lower precision that it needs.
    pub(super) precision: Option<Arithmetic>,
    /// Recipes that would fit within a lower precision, but are not the same.
    pub(super) undecided: Option<(Arithmetic, Vec<Recipe>)>,
    /// What the logged losses alone follow.
    pub(super) logged: Vec<Recipe>,
    /// Whether the recipes leave windows unjudged.
    pub(super) is_partial: bool,
}

/// Recipes that fit some windows under a set of evidence.
struct Fits {
    /// Those whose weights are known in every window.
    whole: Vec<Recipe>,
    /// The others.
    partial: Vec<Recipe>,
}

/// Tries the sets of evidence within tolerance, then full and other windows apart, then lower precisions.
pub(super) fn conclude(diagnosis: &Diagnosis) -> Conclusion {
    let (full, other) = (&diagnosis.full, &diagnosis.other);
    let both: Vec<&Domain> = [full, other].into_iter().filter(|domain| domain.windows > 0).collect();
    let ranks = diagnosis.facts.ranks;
    let mut conclusion = Conclusion::default();
    let found = SETS.iter().enumerate().find_map(|(index, set)| Some((index, best(&both, ranks, set, 0.0)?)));
    if let Some((index, (recipes, is_partial))) = found {
        conclusion.set = Some(index);
        conclusion.is_partial = is_partial;
        conclusion.controls = controls(&recipes, diagnosis.facts);
        conclusion.recipes = listed(&both, ranks, &recipes);
    }
    for (domain, list) in [(full, &mut conclusion.full), (other, &mut conclusion.short)] {
        let sets = match conclusion.set {
            Some(index) => &SETS[index..=index],
            None => &SETS[..],
        };
        if domain.windows > 0
            && let Some((recipes, _)) = sets.iter().find_map(|set| best(&[domain], ranks, set, 0.0))
        {
            *list = listed(&[domain], ranks, &recipes);
        }
    }
    if conclusion.recipes.is_empty() && conclusion.full.is_empty() && conclusion.short.is_empty() {
        lower_precision(diagnosis, &both, &mut conclusion);
    }
    conclusion.logged = logged(diagnosis);
    conclusion
}

/// What fits: recipes that judge every window, or else those that leave some unjudged; `None` where nothing does.
fn best(domains: &[&Domain], ranks: u64, set: &[Kind], roundoff: f64) -> Option<(Vec<Recipe>, bool)> {
    let Fits { whole, partial } = fits(domains, ranks, set, roundoff);
    match (whole.is_empty(), partial.is_empty()) {
        (false, _) => Some((whole, false)),
        (true, false) => Some((partial, true)),
        (true, true) => None,
    }
}

/// Every recipe that fits, within tolerance or where a format with this unit roundoff plausibly makes the difference.
///
/// One that leaves windows unjudged, or takes another window's count, has to explain something that the declared formula does not: agreeing with it where
/// the counts are the same, it explains nothing.
fn fits(domains: &[&Domain], ranks: u64, set: &[Kind], roundoff: f64) -> Fits {
    let mut fits = Fits { whole: Vec::new(), partial: Vec::new() };
    for recipe in Recipe::all() {
        let Some(candidates) = domains.iter().map(|domain| domain.standing_for(recipe, ranks)).collect() else {
            continue;
        };
        let candidates: Vec<&super::candidate::Candidate> = candidates;
        let all_fit = |kind: &Kind| candidates.iter().all(|candidate| candidate.fit(*kind).needed <= roundoff);
        let asked = |kind: &Kind| !recipe.base.overwrites() || kind.shows_gradients();
        let compared = |kind: &&Kind| candidates.iter().any(|candidate| candidate.fit(**kind).compared > 0);
        if !set.iter().all(all_fit) || !set.iter().filter(|kind| asked(kind)).any(|kind| compared(&kind)) {
            continue;
        }
        let is_whole = candidates.iter().all(|candidate| candidate.unknown == 0);
        let telling = |kind: &Kind| candidates.iter().map(|candidate| candidate.fit(*kind).telling).sum::<u64>();
        let must_tell = !is_whole || recipe.base == Base::StaleDenominator;
        if must_tell && set.iter().map(telling).sum::<u64>() < ENOUGH_TELLING {
            continue;
        }
        if is_whole { fits.whole.push(recipe) } else { fits.partial.push(recipe) }
    }
    fits
}

/// Of recipes that fit, those that are named: token-mean alone, else of those that give equal weights the proper names,
/// or the simplest where none has one.
fn listed(domains: &[&Domain], ranks: u64, fitting: &[Recipe]) -> Vec<Recipe> {
    if fitting.contains(&Recipe::TOKEN_MEAN) {
        return vec![Recipe::TOKEN_MEAN];
    }
    let mut sorted = fitting.to_vec();
    sorted.sort_by_key(|recipe| recipe.simplicity());
    let mut listed: Vec<Recipe> = Vec::new();
    for &recipe in &sorted {
        let has_equal = listed.iter().any(|&other| are_equal(domains, ranks, recipe, other));
        if !has_equal || recipe.proper_name().is_some() {
            listed.push(recipe);
        }
    }
    listed
}

/// Whether two recipes gave every microbatch the same weight.
fn are_equal(domains: &[&Domain], ranks: u64, left: Recipe, right: Recipe) -> bool {
    domains.iter().all(|domain| {
        let standing = [left, right].map(|recipe| domain.standing_for(recipe, ranks));
        let [Some(left), Some(right)] = standing else { return false };
        left.class == right.class
    })
}

/// The bases that explain a run as well as token-mean, with factor 1 and not by construction.
fn controls(fitting: &[Recipe], facts: Facts) -> Vec<Base> {
    if !fitting.contains(&Recipe::TOKEN_MEAN) {
        return Vec::new();
    }
    let plain = |recipe: &&Recipe| recipe.factor == Factor::One && !recipe.base.overwrites();
    let right = by_construction(Recipe::TOKEN_MEAN, facts);
    let other = |recipe: &&Recipe| by_construction(**recipe, facts) != right;
    fitting.iter().filter(plain).filter(other).map(|recipe| recipe.base).collect()
}

/// The recipe that stands for all that are the same whatever the counts.
fn by_construction(recipe: Recipe, facts: Facts) -> Recipe {
    let recipe = recipe.on(facts.ranks);
    let recipe = if facts.all_full { recipe.in_full_window() } else { recipe };
    if !facts.single {
        return recipe;
    }
    let base = match (recipe.base, facts.ranks > 1) {
        (Base::MicrobatchGlobalMean | Base::LastMicrobatchOnly | Base::FirstMicrobatchOnly, _) => Base::TokenMean,
        (Base::RankTokenMean, true) => Base::MeanOfMeans,
        (Base::MeanOfMeans | Base::UnshiftedWeightedMeans | Base::RowWeighted, false) => Base::TokenMean,
        (other, _) => other,
    };
    let factor = match recipe.factor {
        Factor::TimesActual | Factor::OverActual => Factor::One,
        Factor::ActualOverNominal => Factor::OverNominal,
        other => other,
    };
    Recipe { base, factor }
}

/// Looks for recipes that fit within the plausible rounding of a lower precision than declared. They are only named
/// where all that fit are the same by construction.
fn lower_precision(diagnosis: &Diagnosis, domains: &[&Domain], conclusion: &mut Conclusion) {
    let declared = diagnosis.contract.loss_arithmetic().unit_roundoff();
    let lower = Arithmetic::ALL.into_iter().filter(|arithmetic| arithmetic.unit_roundoff() > declared);
    let (facts, ranks) = (diagnosis.facts, diagnosis.facts.ranks);
    for arithmetic in lower {
        for (index, set) in SETS.iter().enumerate() {
            let fitting = fits(domains, ranks, set, arithmetic.unit_roundoff()).whole;
            let Some(&first) = fitting.first() else { continue };
            let same = |&recipe: &Recipe| by_construction(recipe, facts) == by_construction(first, facts);
            if fitting.iter().all(same) {
                conclusion.set = Some(index);
                conclusion.precision = Some(arithmetic);
                conclusion.recipes = listed(domains, ranks, &fitting);
            } else {
                conclusion.undecided = Some((arithmetic, listed(domains, ranks, &fitting)));
            }
            return;
        }
    }
}

/// What the logged losses follow when they are asked alone.
fn logged(diagnosis: &Diagnosis) -> Vec<Recipe> {
    let both: Vec<&Domain> = diagnosis.logged.iter().filter(|domain| domain.recorded[Kind::Loss as usize]).collect();
    if both.is_empty() {
        return Vec::new();
    }
    let ranks = diagnosis.facts.ranks;
    let found = best(&both, ranks, &[Kind::Loss], 0.0);
    let plain = |recipe: &Recipe| recipe.proper_name().is_some() || recipe.factor == Factor::One;
    let mut recipes = found.map_or_else(Vec::new, |(recipes, _)| recipes);
    if recipes.contains(&Recipe::TOKEN_MEAN) {
        return vec![Recipe::TOKEN_MEAN];
    }
    recipes.sort_by_key(|recipe| recipe.simplicity());
    if recipes.iter().any(plain) {
        recipes.retain(plain);
    }
    recipes
}

/// The names of recipes, in order.
pub(super) fn names(recipes: &[Recipe]) -> Vec<String> {
    recipes.iter().map(|recipe| recipe.name()).collect()
}

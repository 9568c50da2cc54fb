//! A receipt in one sentence for someone who has never seen this tool, and what to change in another.
use super::counted;
use super::counted::Counted;
use super::particular;
use super::particular::Particular;
use super::plain;
use super::recipes;
use super::recipes::Recipe;
use super::words;
use crate::finding::Code;
use crate::finding::Severity;
use crate::ledger::evidence::Presence;
use crate::manifest::contract::Evidence;
use crate::receipt::document::FindingReport;
use crate::receipt::document::Receipt;
use crate::receipt::document::Verdict;

/// What is wrong and what to change, a sentence each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// What is wrong, or that nothing is.
    pub sentence: String,
    /// What to change, with backticks about what is to be typed; absent where nothing has to be.
    pub change: Option<String>,
    /// What may be changed where nothing has to be: the pages of the warnings.
    pub optional: Option<String>,
}

impl Headline {
    /// Of a receipt.
    pub fn of(receipt: &Receipt) -> Self {
        let (sentence, change) = match receipt.verdict {
            Verdict::Verified => (verified(receipt), None),
            Verdict::Violated => violated(receipt),
            Verdict::Rejected => rejected(receipt),
        };
        let optional = (receipt.verdict == Verdict::Verified).then(|| of_warnings(receipt)).flatten();
        Headline { sentence, change, optional }
    }
}

/// The errors that no other finding explains, worst first.
pub fn root_causes(receipt: &Receipt) -> impl Iterator<Item = &FindingReport> {
    receipt.findings.iter().filter(|finding| finding.severity == Severity::Error && finding.caused_by.is_none())
}

/// A recipe that was followed in place of the declared one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The simplest that fits.
    pub recipe: Recipe,
    /// Where; empty for everywhere.
    pub part: &'static str,
    /// Whether only the log followed it, and the weights are right.
    pub is_only_log: bool,
}

/// The recipe that explains the worst error of a run, where it was followed in place of the declared one.
pub fn followed(receipt: &Receipt) -> Option<Followed> {
    let worst = root_causes(receipt).next().filter(|worst| is_about_weights(worst.code))?;
    let is_only_log = worst.code == Code::GA201 && extent(receipt, Evidence::Weights) != Presence::None;
    let diagnosis = receipt.diagnosis.as_ref()?;
    let declared = receipt.formula.as_deref().and_then(recipes::declared).map(|recipe| recipe.name);
    let of = |names: &[String], part| {
        let name = names.first().filter(|name| Some(*name) != declared.as_ref())?;
        Some(Followed { recipe: recipes::find(name)?, part, is_only_log })
    };
    match diagnosis.recipes.is_empty() {
        false => of(&diagnosis.recipes, ""),
        true => {
            of(&diagnosis.full_windows, "in full windows").or_else(|| of(&diagnosis.short_windows, "in short windows"))
        }
    }
}

/// The extent of a kind of evidence.
pub fn extent(receipt: &Receipt, kind: Evidence) -> Presence {
    receipt.evidence.as_ref().and_then(|evidence| evidence.get(&kind)).copied().unwrap_or(Presence::None)
}

fn has(receipt: &Receipt, kinds: &[Evidence]) -> bool {
    kinds.iter().any(|&kind| extent(receipt, kind) != Presence::None)
}

/// Bytes of advice that are quoted whole.
const LONGEST_ADVICE: usize = 360;

/// Evidence of what was differentiated, not only of what was logged.
const OF_GRADIENTS: &[Evidence] = &[Evidence::Weights, Evidence::Gradient, Evidence::Accumulated];

fn verified(receipt: &Receipt) -> String {
    let windows = receipt.totals.as_ref().map_or(0, |totals| totals.windows.get());
    let warnings = worth_knowing(receipt);
    if windows == 0 {
        let why = if receipt.options.partial { "No window is complete yet" } else { "No window was to be judged" };
        return format!("{why}: nothing was judged.{warnings}");
    }
    let formula = receipt.formula.as_deref().unwrap_or("the declared formula");
    let all = match windows {
        1 => "The window".to_owned(),
        _ => format!("All {windows} windows"),
    };
    let sentence = if has(receipt, OF_GRADIENTS) {
        format!("{all} made the declared update: nothing recorded contradicts {formula}.")
    } else if has(receipt, &[Evidence::Loss]) {
        format!("{all} logged the loss that {formula} gives; what was differentiated was not recorded.")
    } else {
        format!(
            "{all} kept the declared counts and order of events; no weight, loss or gradient was recorded that could \
             contradict {formula}."
        )
    };
    let control = match receipt.diagnosis.as_ref().is_some_and(|diagnosis| diagnosis.control) {
        true => " But it is a control: a wrong recipe would have recorded the same numbers.",
        false => "",
    };
    format!("{sentence}{control}{warnings}")
}

/// The warnings of a verified run, a sentence; empty where there is none.
fn worth_knowing(receipt: &Receipt) -> String {
    let warnings: Vec<String> = receipt.findings.iter().map(also).collect();
    match warnings.as_slice() {
        [] => String::new(),
        warnings => format!(" Worth knowing: {}.", warnings.join("; ")),
    }
}

/// What the pages of the warnings say, each named where there are several; absent without warnings.
fn of_warnings(receipt: &Receipt) -> Option<String> {
    let advice: Vec<(Code, String)> =
        receipt.findings.iter().filter_map(|finding| Some((finding.code, advice(finding.code)?))).collect();
    match advice.as_slice() {
        [] => None,
        [(_, one)] => Some(one.clone()),
        several => {
            let each = several.iter().map(|(code, text)| format!("{code}: {}", words::first_sentence(text)));
            Some(each.collect::<Vec<_>>().join(" "))
        }
    }
}

fn violated(receipt: &Receipt) -> (String, Option<String>) {
    let mut causes = root_causes(receipt);
    let Some(worst) = causes.next() else {
        return ("This run did not make the declared update.".to_owned(), None);
    };
    let others: Vec<String> = causes.map(also).collect();
    let (what, change) = match followed(receipt) {
        Some(followed) if followed.is_only_log => (wrong_recipe(receipt, worst, &followed), advice(worst.code)),
        Some(followed) => (wrong_recipe(receipt, worst, &followed), Some(words::stopped(&followed.recipe.change))),
        None => match particular::of(receipt, worst) {
            Some(Particular { what, change }) => {
                (words::stopped(&what.unwrap_or_else(|| wrong_clock(worst))), Some(change))
            }
            None => (words::stopped(&wrong_clock(worst)), advice(worst.code)),
        },
    };
    let also = match others.as_slice() {
        [] => String::new(),
        _ => format!(" Also: {}.", others.join("; ")),
    };
    (what + &also, change)
}

/// A further fault, within a sentence.
fn also(finding: &FindingReport) -> String {
    let wrong = plain::wrong(finding.code, finding.severity);
    format!("{}{} ({})", wrong[..1].to_lowercase(), &wrong[1..], finding.code)
}

/// Whether a recipe can be the explanation.
fn is_about_weights(code: Code) -> bool {
    matches!(code, Code::GA201 | Code::GA202 | Code::GA203 | Code::GA204 | Code::GA205 | Code::GA207)
}

/// What was done, what it made of the targets, and then the recipe's name: sentences.
fn wrong_recipe(receipt: &Receipt, worst: &FindingReport, followed: &Followed) -> String {
    let Followed { recipe, part, is_only_log } = followed;
    let did = if part.is_empty() { recipe.did.clone() } else { format!("{part}, {}", recipe.did) };
    let did = match worst.code {
        _ if *is_only_log => format!("What this run logs is not the loss of its updates: in the log, {did}"),
        Code::GA201 => format!("Going by the log, {did}"),
        _ => words::capitalised(&did),
    };
    let was_declared = match receipt.formula.as_deref() {
        Some("token-mean/1") => "every target of an update was declared to count the same".to_owned(),
        Some(formula) => format!("{formula} was declared"),
        None => "another recipe was declared".to_owned(),
    };
    // A recipe of some windows only says nothing of what the targets of the others counted for.
    let counted = if part.is_empty() { counted::of(receipt, recipe) } else { Counted::Fairly };
    let ends = match counted {
        _ if *is_only_log => String::new(),
        Counted::Fairly => format!(": {was_declared}"),
        Counted::Alike(counted) => format!(", so {counted}"),
        Counted::Differently(counted) => format!(", so {counted}: {was_declared}"),
    };
    format!("{did}{ends}. (Recipe: {}.)", recipe.name)
}

fn wrong_clock(worst: &FindingReport) -> String {
    let windows = words::windows_of(worst);
    let windows = if windows.is_empty() { String::new() } else { format!(" ({windows})") };
    format!("{}{windows}: {}", plain::wrong(worst.code, worst.severity), worst.message)
}

fn rejected(receipt: &Receipt) -> (String, Option<String>) {
    let Some(worst) = receipt.findings.first() else {
        return ("The manifest is malformed: nothing was computed.".to_owned(), None);
    };
    let more = receipt.findings.iter().map(|finding| finding.count.get()).sum::<u64>().saturating_sub(1);
    let more = if more > 0 { format!(" Also: {}.", words::count(more, "more fault")) } else { String::new() };
    let what = words::stopped(&format!("{}: {}", plain::wrong(worst.code, worst.severity), worst.message));
    (format!("{what}{more} Nothing was computed."), advice(worst.code))
}

/// What a rule's page says is to be done: its first paragraph if that is short, else its first sentence.
fn advice(code: Code) -> Option<String> {
    let section = plain::section_of(code, "What to do");
    let paragraph = section.split("\n\n").next().unwrap_or_default();
    let text = plain::one_line(paragraph);
    let advice = if text.len() <= LONGEST_ADVICE { &*text } else { words::first_sentence(&text) };
    Some(advice.to_owned()).filter(|advice| !advice.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Place;
    use crate::report::testing;

    fn sentence(receipt: &Receipt) -> String {
        Headline::of(receipt).sentence
    }

    const WORST: &str = "so targets in short microbatches counted up to 3.33 times as much as they should: every target \
                         of an update was declared to count the same. (Recipe: mean-of-means.)";
    const AVERAGED: &str = "each microbatch's loss was averaged by itself, and then the averages were averaged";

    #[test]
    fn a_wrong_recipe_is_said_with_what_the_targets_counted_for() {
        let mut receipt = testing::violated(&[&testing::MEAN_OF_MEANS]);
        let told = format!("{}, {WORST}", words::capitalised(AVERAGED));
        assert_eq!(sentence(&receipt), told);
        receipt.diagnosis.as_mut().expect("a diagnosis").recipes.push("row-weighted".to_owned());
        assert_eq!(sentence(&receipt), told, "what fits as well stands in the body");
        receipt.formula = Some("slot-mean/1".to_owned());
        assert!(sentence(&receipt).contains("as they should: slot-mean/1 was declared. (Recipe"), "{receipt:?}");
    }

    #[test]
    fn targets_that_are_off_alike_make_the_whole_gradient_wrong() {
        let half = [(3, 1.2, 0.5), (6, 4.8, 0.5), (1, 0.4, 0.5)];
        let mut receipt = testing::violated(&[&half]);
        receipt.diagnosis.as_mut().expect("a diagnosis").recipes = vec!["world-size-lost".to_owned()];
        assert!(
            sentence(&receipt).ends_with(
                "once more, so every target counted 0.5 times what it should, and the whole gradient was too small. \
                 (Recipe: world-size-lost.)"
            ),
            "{}",
            sentence(&receipt)
        );
    }

    #[test]
    fn a_recipe_may_explain_only_some_windows() {
        let mut receipt = testing::violated(&[&testing::MEAN_OF_MEANS]);
        let diagnosis = receipt.diagnosis.as_mut().expect("a diagnosis");
        diagnosis.recipes.clear();
        diagnosis.full_windows = vec!["token-mean".to_owned()];
        diagnosis.short_windows = vec!["divided-twice".to_owned()];
        assert!(sentence(&receipt).starts_with("In short windows, the loss was divided by"), "{}", sentence(&receipt));
        receipt.diagnosis.as_mut().expect("a diagnosis").short_windows.clear();
        assert_eq!(
            sentence(&receipt),
            "The gradient followed other weights than the declared ones (window 0): weight 0.3333333333333333 where \
             token-mean/1 gives 0.1, a factor of 3.333."
        );
    }

    #[test]
    fn a_wrong_log_is_told_from_a_wrong_gradient() {
        let mut receipt = testing::violated(&[&testing::RIGHT]);
        receipt.findings.remove(0);
        receipt.findings[0].caused_by = None;
        let Headline { sentence, change, .. } = Headline::of(&receipt);
        assert_eq!(
            sentence,
            format!(
                "What this run logs is not the loss of its updates: in the log, {AVERAGED}. (Recipe: mean-of-means.)"
            )
        );
        assert_eq!(change, advice(Code::GA201), "the weights are right: the training loss must stay as it is");
        receipt.evidence = None;
        let Headline { sentence, change, .. } = Headline::of(&receipt);
        assert!(sentence.starts_with(&format!("Going by the log, {AVERAGED}: every target")), "{sentence}");
        assert!(change.expect("the recipe's remedy").starts_with("Sum each microbatch's loss"));
    }

    #[test]
    fn a_fault_of_order_is_said_with_its_numbers_and_its_page() {
        let mut receipt = testing::violated(&[&testing::RIGHT]);
        receipt.findings = vec![
            testing::finding(Code::GA303, Place::window(2), "2 of 4 backwards are lost"),
            testing::finding(Code::GA601, Place::window(4), "left unstepped"),
        ];
        let headline = Headline::of(&receipt);
        assert_eq!(
            headline.sentence,
            "Gradients were cleared in the middle of an update, so a part of them was lost (window 2): 2 of 4 backwards \
             are lost. Also: the incomplete update at the end of the data was not treated as declared (GA601)."
        );
        assert!(headline.change.expect("advice").starts_with("Clear once a window"));
    }

    #[test]
    fn a_run_without_a_complete_window_is_not_judged() {
        let mut receipt = testing::receipt(&[]);
        receipt.options.partial = true;
        assert_eq!(sentence(&receipt), "No window is complete yet: nothing was judged.");
    }

    #[test]
    fn a_warning_is_worth_knowing() {
        let mut receipt = testing::receipt(&[&testing::RIGHT]);
        receipt.findings = vec![testing::finding(Code::GA309, Place::window(0), "twice")];
        let headline = Headline::of(&receipt);
        assert_eq!(
            headline.sentence,
            "The window made the declared update: nothing recorded contradicts token-mean/1. Worth knowing: gradients \
             were cleared twice (GA309)."
        );
        assert_eq!(headline.change, None);
        assert!(headline.optional.expect("the warning's page").starts_with("Keep one `zero_grad()`. Several"));
        receipt.findings.push(testing::finding(Code::GA402, Place::window(0), "early"));
        let optional = Headline::of(&receipt).optional.expect("both pages, in short");
        assert_eq!(
            optional,
            "GA309: Keep one `zero_grad()`. GA402: Run all but the last microbatch of a window inside `no_sync()`."
        );
    }
}

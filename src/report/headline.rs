//! A receipt in one sentence for someone who has never seen this tool, and what to change in another.
use super::number;
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
}

impl Headline {
    /// Of a receipt.
    pub fn of(receipt: &Receipt) -> Self {
        match receipt.verdict {
            Verdict::Verified => Headline { sentence: verified(receipt), change: None },
            Verdict::Violated => violated(receipt),
            Verdict::Rejected => rejected(receipt),
        }
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
    /// The names of the others that fit as well.
    pub others: Vec<String>,
    /// Where, as it stands in a sentence; empty for everywhere.
    pub part: &'static str,
}

/// The recipe that was followed in place of the declared one.
pub fn followed(receipt: &Receipt) -> Option<Followed> {
    let diagnosis = receipt.diagnosis.as_ref()?;
    let declared = receipt.formula.as_deref().and_then(recipes::declared).map(|recipe| recipe.name);
    let of = |names: &[String], part| {
        let (name, others) = names.split_first().filter(|(name, _)| Some(*name) != declared.as_ref())?;
        Some(Followed { recipe: recipes::find(name)?, others: others.to_vec(), part })
    };
    match diagnosis.recipes.is_empty() {
        false => of(&diagnosis.recipes, ""),
        true => of(&diagnosis.full_windows, " in its full windows")
            .or_else(|| of(&diagnosis.short_windows, " in its short windows")),
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

fn violated(receipt: &Receipt) -> Headline {
    let mut causes = root_causes(receipt);
    let Some(worst) = causes.next() else {
        return Headline { sentence: "This run did not make the declared update.".to_owned(), change: None };
    };
    let others: Vec<String> = causes.map(also).collect();
    let (what, change) = match followed(receipt).filter(|_| is_about_weights(worst.code)) {
        Some(followed) => (wrong_recipe(receipt, worst, &followed), Some(words::stopped(&followed.recipe.change))),
        None => match particular::of(receipt, worst) {
            Some(Particular { what, change }) => (what.unwrap_or_else(|| wrong_clock(worst)), Some(change)),
            None => (wrong_clock(worst), advice(worst.code)),
        },
    };
    let also = match others.as_slice() {
        [] => String::new(),
        _ => format!(" Also: {}.", others.join("; ")),
    };
    Headline { sentence: words::stopped(&what) + &also, change }
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

fn wrong_recipe(receipt: &Receipt, worst: &FindingReport, followed: &Followed) -> String {
    let declared = match receipt.formula.as_deref() {
        Some("token-mean/1") => "every target of an update was to count the same (token-mean/1)".to_owned(),
        Some(formula) => format!("{formula} was declared"),
        None => "another recipe was declared".to_owned(),
    };
    let Followed { recipe: Recipe { name, did, .. }, others, part } = followed;
    let name = match others.as_slice() {
        [] => name.clone(),
        [other] => format!("{name}; {other} would look the same"),
        others => format!("{name}; {} others would look the same", others.len()),
    };
    match worst.code {
        Code::GA201 if extent(receipt, Evidence::Weights) != Presence::None => {
            format!("What this run logs is not the loss of its updates: the log{part} {did} ({name})")
        }
        Code::GA201 => format!("Going by its log, this run{part} {did} ({name}), where {declared}"),
        _ => format!("This run{part} {did} ({name}), where {declared}{}", share(receipt)),
    }
}

/// What the target that is furthest off counted for; empty where none is off by a hundredth.
fn share(receipt: &Receipt) -> String {
    let shares = receipt.microbatches.iter().flatten().filter_map(|microbatch| {
        let (seen, declared) = microbatch.weight_seen.zip(microbatch.weight_declared)?;
        Some(seen.get() / declared.get()).filter(|share| share.is_finite())
    });
    let (least, most) = shares.fold((1.0, 1.0), |(least, most): (f64, f64), share| (least.min(share), most.max(share)));
    match () {
        () if most > 1.01 => format!("; one counted for {} times its fair share", number::significant(most, 3)),
        () if least < 0.99 => format!("; one counted for only {} times its fair share", number::significant(least, 3)),
        () => String::new(),
    }
}

fn wrong_clock(worst: &FindingReport) -> String {
    let windows = words::windows_of(worst);
    let windows = if windows.is_empty() { String::new() } else { format!(" ({windows})") };
    format!("{}{windows}: {}", plain::wrong(worst.code, worst.severity), worst.message)
}

fn rejected(receipt: &Receipt) -> Headline {
    let Some(worst) = receipt.findings.first() else {
        return Headline { sentence: "The manifest is malformed: nothing was computed.".to_owned(), change: None };
    };
    let more = receipt.findings.iter().map(|finding| finding.count.get()).sum::<u64>().saturating_sub(1);
    let more = if more > 0 { format!(" Also: {}.", words::count(more, "more fault")) } else { String::new() };
    let what = words::stopped(&format!("{}: {}", plain::wrong(worst.code, worst.severity), worst.message));
    let sentence = format!("{what}{more} Nothing was computed.");
    Headline { sentence, change: advice(worst.code) }
}

/// What a rule's page says is to be done: its first paragraph if that is short, else its first sentence.
fn advice(code: Code) -> Option<String> {
    let section = plain::section_of(code, "What to do");
    let paragraph = section.split("\n\n").next().unwrap_or_default();
    let text = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
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

    #[test]
    fn what_cannot_be_told_apart_is_not_guessed() {
        let mut receipt = testing::violated(&[&testing::MEAN_OF_MEANS]);
        receipt.diagnosis.as_mut().expect("a diagnosis").recipes.push("row-weighted".to_owned());
        assert!(
            sentence(&receipt).contains("(mean-of-means; row-weighted would look the same)"),
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
        assert!(sentence(&receipt).starts_with("This run in its short windows divided by"), "{}", sentence(&receipt));
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
        let right = "What this run logs is not the loss of its updates: the log averaged each microbatch by itself, and \
                     then averaged the averages (mean-of-means).";
        assert_eq!(sentence(&receipt), right);
        receipt.evidence = None;
        assert!(sentence(&receipt).starts_with("Going by its log, this run averaged"), "{}", sentence(&receipt));
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
        assert_eq!(
            Headline::of(&receipt),
            Headline {
                sentence: "The window made the declared update: nothing recorded contradicts token-mean/1. Worth \
                           knowing: gradients were cleared twice (GA309)."
                    .to_owned(),
                change: None
            }
        );
    }
}

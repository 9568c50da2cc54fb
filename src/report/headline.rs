//! A receipt in one sentence for someone who has never seen this tool, and what to change in another.
use super::number;
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

/// The recipe that was followed in place of the declared one, and in which windows.
pub fn followed(receipt: &Receipt) -> Option<(Recipe, &'static str)> {
    let diagnosis = receipt.diagnosis.as_ref()?;
    let declared = receipt.formula.as_deref().and_then(recipes::declared).map(|recipe| recipe.name);
    let first = |names: &[String]| {
        let name = names.first().filter(|name| Some(*name) != declared.as_ref())?;
        recipes::find(name)
    };
    if !diagnosis.recipes.is_empty() {
        return first(&diagnosis.recipes).map(|recipe| (recipe, ""));
    }
    let full = || first(&diagnosis.full_windows).map(|recipe| (recipe, " in its full windows"));
    let short = || first(&diagnosis.short_windows).map(|recipe| (recipe, " in its short windows"));
    full().or_else(short)
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
    let warnings: Vec<String> = receipt.findings.iter().map(also).collect();
    let warnings = match warnings.as_slice() {
        [] => String::new(),
        warnings => format!(" Worth knowing: {}.", warnings.join("; ")),
    };
    format!("{sentence}{control}{warnings}")
}

fn violated(receipt: &Receipt) -> Headline {
    let mut causes = root_causes(receipt);
    let Some(worst) = causes.next() else {
        return Headline { sentence: "This run did not make the declared update.".to_owned(), change: None };
    };
    let others: Vec<String> = causes.map(also).collect();
    let (what, change) = match followed(receipt).filter(|_| is_about_weights(worst.code)) {
        Some((recipe, part)) => (wrong_recipe(receipt, worst, &recipe, part), Some(format!("{}.", recipe.change))),
        None => (wrong_clock(worst), advice(worst.code)),
    };
    let also = match others.as_slice() {
        [] => String::new(),
        _ => format!(" Also: {}.", others.join("; ")),
    };
    Headline { sentence: format!("{what}.{also}"), change }
}

/// A further fault, within a sentence.
fn also(finding: &FindingReport) -> String {
    let wrong = plain::wrong(finding.code);
    format!("{}{} ({})", wrong[..1].to_lowercase(), &wrong[1..], finding.code)
}

/// Whether a recipe can be the explanation.
fn is_about_weights(code: Code) -> bool {
    matches!(code, Code::GA201 | Code::GA202 | Code::GA203 | Code::GA204 | Code::GA205 | Code::GA207)
}

fn wrong_recipe(receipt: &Receipt, worst: &FindingReport, recipe: &Recipe, part: &str) -> String {
    let declared = match receipt.formula.as_deref() {
        Some("token-mean/1") => "every target of a window was to count the same (token-mean/1)".to_owned(),
        Some(formula) => format!("{formula} was declared"),
        None => "another recipe was declared".to_owned(),
    };
    let Recipe { name, did, .. } = recipe;
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
        () if most > 1.01 => format!("; one counted for {} times its share", number::significant(most, 3)),
        () if least < 0.99 => format!("; one counted for only {} times its share", number::significant(least, 3)),
        () => String::new(),
    }
}

fn wrong_clock(worst: &FindingReport) -> String {
    let windows = words::windows_of(worst);
    let windows = if windows.is_empty() { String::new() } else { format!(" ({windows})") };
    format!("{}{windows}: {}", plain::wrong(worst.code), worst.message)
}

fn rejected(receipt: &Receipt) -> Headline {
    let Some(worst) = receipt.findings.first() else {
        return Headline { sentence: "The manifest is malformed: nothing was computed.".to_owned(), change: None };
    };
    let sentence = format!("{}: {}. Nothing was computed.", plain::wrong(worst.code), worst.message);
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

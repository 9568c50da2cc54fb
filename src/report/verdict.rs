//! What `receipt verify` prints: findings, then the verdict in a sentence, what it rests on, and a last line for a log.
use super::Shown;
use super::Style;
use super::findings;
use super::headline::Headline;
use super::headline::root_causes;
use super::layout::Line;
use super::layout::Role;
use super::layout::prose;
use super::layout::text;
use super::words;
use crate::finding::Severity;
use crate::ledger::evidence::Presence;
use crate::manifest::contract::Evidence;
use crate::receipt::document::FindingReport;
use crate::receipt::document::Receipt;
use crate::receipt::document::Totals;
use crate::receipt::document::Verdict;

/// The text of `receipt verify`, newline at the end. No line is broken, so that a log can be searched; a verified run
/// without findings takes at most six.
pub fn text(shown: &Shown<'_>, style: Style) -> String {
    findings::findings(shown, style) + &summary(shown, style)
}

/// What stands below the findings.
pub fn summary(shown: &Shown<'_>, style: Style) -> String {
    let receipt = shown.receipt;
    let mut out = String::new();
    let mut line = |line: Line| out.push_str(&text::unbroken(&line, style));
    let headline = Headline::of(receipt);
    line(headline.sentence.into());
    let change = headline.change.map(|text| ("what to change:", text));
    if let Some((label, text)) = change.or(headline.optional.map(|text| ("what you may change:", text))) {
        line(Line::new().strong(label).text(" ").join(prose::spans(&text)));
    }
    if receipt.verdict != Verdict::Rejected {
        line(format!("rests on: {}", rests_on(receipt)).into());
    }
    if let Some(diagnosis) = &receipt.diagnosis
        && !diagnosis.text.is_empty()
    {
        line(format!("diagnosis: {}", diagnosis.text).into());
    }
    if let Some(totals) = &receipt.totals {
        line(self::totals(totals).into());
    }
    if let Some(more) = more(shown) {
        line(more);
    }
    line(last(shown));
    out
}

/// Which evidence the verdict rests on, in words.
pub fn rests_on(receipt: &Receipt) -> String {
    let Some(evidence) = &receipt.evidence else { return "nothing".to_owned() };
    let of = |wanted: Presence, where_: &str| {
        let kinds = evidence.iter().filter(|(_, presence)| **presence == wanted).map(|(kind, _)| kind_in_words(*kind));
        let kinds: Vec<String> = kinds.map(str::to_owned).collect();
        (!kinds.is_empty()).then(|| format!("{} {where_}", words::list(&kinds)))
    };
    let said = [of(Presence::All, "(all windows)"), of(Presence::Some, "(some windows)")];
    match said.into_iter().flatten().collect::<Vec<_>>().as_slice() {
        [] => "the order and number of events alone".to_owned(),
        said => format!("{}; the order and number of events", said.join("; ")),
    }
}

/// A kind of evidence, as it stands in a sentence.
pub fn kind_in_words(kind: Evidence) -> &'static str {
    match kind {
        Evidence::LearningRate => "learning rate",
        other => other.as_str(),
    }
}

/// Totals in words.
pub fn totals(totals: &Totals) -> String {
    let mut text = format!(
        "{}, {}, {}; {} applied",
        words::count(totals.windows.get(), "window"),
        words::count(totals.microbatches.get(), "microbatch"),
        words::count(totals.valid_targets.get(), "valid target"),
        words::count(totals.updates_applied.get(), "update"),
    );
    if totals.updates_skipped.get() > 0 {
        text.push_str(&format!(", {} skipped", totals.updates_skipped));
    }
    if totals.superseded.get() > 0 {
        text.push_str(&format!("; {} superseded", words::count(totals.superseded.get(), "microbatch")));
    }
    text
}

/// Where to read on.
fn more(shown: &Shown<'_>) -> Option<Line> {
    let cause = root_causes(shown.receipt).next().or(shown.receipt.findings.first())?;
    let line = Line::new().with(Role::Faint, "more:").text(" ").code(format!("receipt explain {}", cause.code));
    Some(match shown.receipt.verdict {
        Verdict::Rejected => line,
        _ => line.text(", ").code(format!("receipt explain {}", shown.subject)),
    })
}

/// The verdict with its subject and the codes found.
fn last(shown: &Shown<'_>) -> Line {
    let (role, word) = match shown.receipt.verdict {
        Verdict::Verified => (Role::Good, "verified"),
        Verdict::Violated => (Role::Error, "violated"),
        Verdict::Rejected => (Role::Error, "rejected"),
    };
    let of = |severity: Severity, noun: &str| {
        let found = shown.receipt.findings.iter().filter(|finding| finding.severity == severity);
        let codes: Vec<String> = found.map(code).collect();
        (!codes.is_empty()).then(|| format!("{noun} {}", codes.join(", ")))
    };
    let counts: Vec<String> =
        [of(Severity::Error, "error"), of(Severity::Warning, "warning")].into_iter().flatten().collect();
    let counts = if counts.is_empty() { String::new() } else { format!(" ({})", counts.join("; ")) };
    Line::new().with(role, word).text(format!(": {}{counts}", shown.subject))
}

/// A code, and how often it was found.
fn code(finding: &FindingReport) -> String {
    match finding.count.get() {
        1 => finding.code.to_string(),
        count => format!("{} × {count}", finding.code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Code;
    use crate::finding::Place;
    use crate::report::testing;

    fn shown(receipt: &Receipt) -> String {
        text(&Shown::new(receipt, "run.jsonl"), Style::plain(80))
    }

    #[test]
    fn verified() {
        assert_eq!(
            shown(&testing::receipt(&[&testing::RIGHT, &testing::RIGHT])),
            "\
All 2 windows made the declared update: nothing recorded contradicts token-mean/1.
rests on: weights (all windows); the order and number of events
diagnosis: token-mean explains every backward loss
2 windows, 6 microbatches, 20 valid targets; 2 updates applied
verified: run.jsonl
"
        );
    }

    #[test]
    fn without_evidence_it_says_so() {
        let mut receipt = testing::receipt(&[&testing::RIGHT]);
        receipt.evidence = Some(receipt.evidence.iter().flatten().map(|(&kind, _)| (kind, Presence::None)).collect());
        receipt.diagnosis = None;
        assert_eq!(
            shown(&receipt),
            "\
The window kept the declared counts and order of events; no weight, loss or gradient was recorded that could contradict token-mean/1.
rests on: the order and number of events alone
1 window, 3 microbatches, 10 valid targets; 1 update applied
verified: run.jsonl
"
        );
    }

    #[test]
    fn violated_by_a_mean_of_means() {
        assert_eq!(
            shown(&testing::violated(&[&testing::MEAN_OF_MEANS, &testing::MEAN_OF_MEANS])),
            "\
error[GA203] weight-drift: weight 0.3333333333333333 where token-mean/1 gives 0.1, a factor of 3.333
  --> rank 0, event 3, window 0, at /backward/backward_loss
  = worst of 2 instances, in windows 0, 1

error[GA201] loss-drift: logged loss 0.5333333333333333
  --> rank 0, event 5, window 0, at /logged/loss
  = symptom of GA203 weight-drift

Each microbatch's loss was averaged by itself, and then the averages were averaged, so targets in short microbatches counted up to 3.33 times as much as they should: every target of an update was declared to count the same. (Recipe: mean-of-means.)
what to change: Sum each microbatch's loss (`reduction=\"sum\"`) and divide by the valid targets of the whole update.
rests on: weights (all windows); the order and number of events
diagnosis: mean-of-means explains every backward loss
2 windows, 6 microbatches, 20 valid targets; 2 updates applied
more: `receipt explain GA203`, `receipt explain run.jsonl`
violated: run.jsonl (error GA203 × 2, GA201)
"
        );
    }

    #[test]
    fn rejected() {
        let shape = testing::finding(Code::GA103, Place::document("/contract"), "unknown field `formulas`");
        let name =
            testing::finding(Code::GA107, Place::event(0, 2).at("/backward/microbatch"), "`::error::x\u{1b}[31m`");
        let text = shown(&testing::rejected(vec![shape, name]));
        let expected = "\
error[GA103] unexpected-shape: unknown field `formulas`
  --> at /contract

error[GA107] bad-identifier: `::error::x\\u{1b}[31m`
  --> rank 0, event 2, at /backward/microbatch

The manifest lacks a field, has an unknown one, or has one of the wrong type: unknown field `formulas`. Also: 1 more fault. Nothing was computed.
";
        assert!(text.starts_with(expected), "{text}");
        assert!(
            text.ends_with("\nmore: `receipt explain GA103`\nrejected: run.jsonl (error GA103, GA107)\n"),
            "{text}"
        );
    }

    #[test]
    fn the_subject_is_no_command() {
        let receipt = testing::receipt(&[&testing::RIGHT]);
        let text = text(&Shown::new(&receipt, "::error::\u{1b}]0;x\u{7}\n::set"), Style { color: true, width: 40 });
        assert!(text.ends_with("verified\u{1b}[0m: ::error::\\u{1b}]0;x\\u{7} ::set\n"), "{text}");
    }
}

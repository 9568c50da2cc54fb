//! JUnit XML: a test case for each rule, so that a rule's history can be followed.
//!
//! Written by hand for the schema of Jenkins' xUnit plugin (`fixtures/schemas/junit-10.xsd`), which is narrower than what
//! the writers for test runners make. A rule that a judged run breaks is a failure, one that makes the manifest malformed
//! an error.
use super::Checked;
use super::problem::Problem;
use super::problem::problems;
use crate::finding::Severity;
use crate::receipt::document::Receipt;
use crate::receipt::document::Verdict;
use crate::report::plain;
use crate::report::verdict;
use crate::report::visible;
use crate::report::words;
use crate::rules;
use crate::rules::Rule;
use std::fmt::Write;

/// The codes of rules that `receipt check` asks.
const OF_RECEIPTS: &str = "GA8";

/// A rule's result.
enum Result {
    Passed,
    /// With what is worth knowing.
    Warned(String),
    /// Tag, message, details.
    Failed(&'static str, String, String),
    /// The manifest is malformed otherwise, so that this rule could not be asked.
    Skipped,
}

/// The report.
pub fn xml(checked: &Checked<'_>) -> String {
    let receipt = checked.shown.receipt;
    let problems = problems(checked);
    let is_asked = |rule: &&Rule| !rule.code.as_str().starts_with(OF_RECEIPTS);
    let cases: Vec<(&Rule, Result)> =
        rules::all().filter(is_asked).map(|rule| (rule, result(rule, receipt, &problems))).collect();
    let of = |wanted: fn(&Result) -> bool| cases.iter().filter(|(_, result)| wanted(result)).count();
    let failures = of(|result| matches!(result, Result::Failed("failure", ..)));
    let errors = of(|result| matches!(result, Result::Failed("error", ..)));
    let skipped = of(|result| matches!(result, Result::Skipped));
    let counts = format!(r#"tests="{}" failures="{failures}" errors="{errors}""#, cases.len());
    let subject = attribute(checked.shown.subject);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let mut line = |text: String| writeln!(out, "{text}").expect("bug: writing to a string fails");
    line(format!(r#"<testsuites name="receipt" {counts}>"#));
    line(format!(r#"  <testsuite name="{subject}" {counts} skipped="{skipped}">"#));
    line("    <properties>".to_owned());
    for (name, value) in properties(receipt) {
        line(format!(r#"      <property name="{name}" value="{}"/>"#, attribute(&value)));
    }
    line("    </properties>".to_owned());
    cases.iter().for_each(|(rule, result)| line(case(rule, result)));
    line("  </testsuite>\n</testsuites>".to_owned());
    out
}

fn properties(receipt: &Receipt) -> Vec<(&'static str, String)> {
    let verdict = match receipt.verdict {
        Verdict::Verified => "verified",
        Verdict::Violated => "violated",
        Verdict::Rejected => "rejected",
    };
    let mut properties = vec![("verdict", verdict.to_owned()), ("rests on", verdict::rests_on(receipt))];
    properties.extend(receipt.formula.clone().map(|formula| ("formula", formula)));
    properties.extend(receipt.receipt_sha256.map(|hash| ("receipt_sha256", hash.to_string())));
    properties
}

fn result(rule: &Rule, receipt: &Receipt, problems: &[Problem<'_>]) -> Result {
    let of_rule: Vec<&Problem<'_>> = problems.iter().filter(|problem| problem.finding.code == rule.code).collect();
    let Some(first) = of_rule.first() else {
        return if receipt.verdict == Verdict::Rejected { Result::Skipped } else { Result::Passed };
    };
    let mut details: String =
        of_rule.iter().map(|problem| format!("{}: {}\n", problem.origin(), problem.text())).collect();
    // Several problems of a code are its instances, of which a receipt's source shows only so many.
    let more = first.finding.count.get().saturating_sub(of_rule.len() as u64);
    if of_rule.len() > 1 && more > 0 {
        details.push_str(&format!("{more} more are not shown.\n"));
    }
    details.push_str(&format!("\nWhat to do: {}\n", plain::section_of(rule.code, "What to do")));
    match first.finding.severity {
        Severity::Warning => Result::Warned(details),
        Severity::Error if rule.code.rejects() => Result::Failed("error", first.text(), details),
        Severity::Error => Result::Failed("failure", first.text(), details),
    }
}

fn case(rule: &Rule, result: &Result) -> String {
    let family = rule.file.rsplit('/').nth(1).unwrap_or("rules");
    let start = format!(r#"    <testcase classname="receipt.{family}" name="{} {}""#, rule.code, rule.code.name());
    let inside = match result {
        Result::Passed => return format!("{start}/>"),
        Result::Skipped => r#"<skipped message="the manifest is malformed: nothing was judged"/>"#.to_owned(),
        Result::Warned(details) => format!("<system-out>{}</system-out>", content(details)),
        Result::Failed(tag, message, details) => format!(
            r#"<{tag} type="{}" message="{}">{}</{tag}>"#,
            rule.code,
            attribute(&format!(
                "{}: {message}",
                words::sentence(plain::wrong(rule.code, Severity::Error)).trim_end_matches('.')
            )),
            content(details)
        ),
    };
    format!("{start}>{inside}</testcase>")
}

/// An attribute's value.
fn attribute(text: &str) -> String {
    content(&visible::line(text)).replace('"', "&quot;")
}

/// Text between tags. What XML cannot hold at all, control characters and the like, has been written as visible text; two
/// noncharacters are left.
fn content(text: &str) -> String {
    let text = visible::visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Code;
    use crate::finding::Place;
    use crate::report::ci::testing;
    use crate::report::testing as made;

    #[test]
    fn a_broken_rule_is_a_failure_and_a_malformed_manifest_an_error() {
        let violated = testing::format(&made::violated(&[&made::MEAN_OF_MEANS]), "run.jsonl", xml);
        assert!(violated.contains(r#" failures="2" errors="0" skipped="0">"#), "{violated}");
        assert!(violated.contains(r#"name="GA203 weight-drift"><failure type="GA203" message="#), "{violated}");
        assert!(violated.contains(r#"<testcase classname="receipt.clock" name="GA301 optimizer-step-count"/>"#));
        let fault = made::finding(Code::GA107, Place::event(0, 2), "`]]><x a=\"1\">&\u{ffff}\u{0}`");
        let rejected = testing::format(&made::rejected(vec![fault]), "a\"<b>\n.json", xml);
        assert!(rejected.contains(r#"failures="0" errors="1" skipped="#), "{rejected}");
        let message = r#": `]]&gt;&lt;x a=&quot;1&quot;&gt;&amp;"#;
        assert!(rejected.contains(r#"<error type="GA107" message=""#) && rejected.contains(message), "{rejected}");
        assert!(rejected.contains(r#"<testsuite name="a&quot;&lt;b&gt;\u{a}.json""#), "{rejected}");
        assert!(!rejected.contains("]]>") && !rejected.contains(['\u{0}', '\u{ffff}']), "{rejected}");
    }

    #[test]
    fn a_warning_passes_and_says_what() {
        let mut receipt = made::receipt(&[&made::RIGHT]);
        receipt.findings = vec![made::finding(Code::GA309, Place::window(0), "twice")];
        let text = testing::format(&receipt, "run.jsonl", xml);
        assert!(text.contains(r#" failures="0" errors="0""#), "{text}");
        assert!(text.contains(r#"name="GA309 repeated-zero"><system-out>window 0: twice"#), "{text}");
    }
}

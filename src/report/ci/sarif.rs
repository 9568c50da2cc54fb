//! SARIF 2.1.0, for code scanning: every rule with its page, and a result for each problem.
//!
//! Within GitHub's limits by the format's own: results and rules are bounded by the number of codes and of the instances
//! that a finding keeps, messages by their length.
mod document;

use super::Checked;
use super::path;
use super::problem::At;
use super::problem::Problem;
use super::problem::problems;
use crate::finding::CODES;
use crate::finding::Severity;
use crate::receipt::document::Verdict;
use crate::report::json;
use crate::report::plain;
use crate::report::visible;
use crate::report::words;
use crate::rules;
use crate::rules::Rule;
use document::ArtifactLocation;
use document::Driver;
use document::Fingerprints;
use document::Help;
use document::Invocation;
use document::Log;
use document::LogicalLocation;
use document::PhysicalLocation;
use document::Region;
use document::ReportingDescriptor;
use document::Run;
use document::SarifResult;
use document::Text;
use document::Tool;

/// The name under which paths are relative to the repository.
const ROOT: &str = "%SRCROOT%";

/// The log.
pub fn json(checked: &Checked<'_>) -> String {
    let receipt = checked.shown.receipt;
    let run = Run {
        tool: Tool {
            driver: Driver {
                name: "receipt",
                full_name: receipt.tool.name.clone(),
                semantic_version: receipt.tool.version.clone(),
                rules: rules::all().map(descriptor).collect(),
            },
        },
        invocations: [Invocation { execution_successful: true }],
        original_uri_base_ids: document::Bases::new(ROOT, "The repository's folder, or the one in which receipt ran."),
        column_kind: "unicodeCodePoints",
        results: problems(checked).iter().map(result).collect(),
        properties: document::RunProperties {
            verdict: match receipt.verdict {
                Verdict::Verified => "verified",
                Verdict::Violated => "violated",
                Verdict::Rejected => "rejected",
            },
            formula: receipt.formula.clone(),
            receipt_sha256: receipt.receipt_sha256.map(|hash| hash.to_string()),
        },
    };
    json::pretty(&Log::of(run))
}

/// A rule with its page. Its id is stable, since codes are never reused; its index is only this log's.
fn descriptor(rule: &Rule) -> ReportingDescriptor {
    let code = rule.code;
    let lines = rule.docs.lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
    let page = lines.collect::<Vec<_>>().join("\n");
    let family = rule.file.rsplit('/').nth(1).unwrap_or("rules");
    let level = level(code.severity());
    ReportingDescriptor {
        id: code.as_str(),
        name: code.name(),
        short_description: Text::new(plain::wrong(code, code.severity())),
        full_description: Text::new(&plain::section_of(code, "What it does")),
        default_configuration: document::Configuration { level },
        help: Help { text: page.replace("## ", ""), markdown: page },
        properties: document::RuleProperties {
            tags: vec!["gradient-accumulation".to_owned(), family.to_owned()],
            precision: "very-high",
            problem_severity: level,
        },
    }
}

fn result(problem: &Problem<'_>) -> SarifResult {
    let finding = problem.finding;
    let place = words::place(&problem.place);
    let physical = problem.path.as_ref().map(|path| PhysicalLocation {
        artifact_location: ArtifactLocation {
            uri: path::uri(path),
            uri_base_id: (!path.starts_with('/')).then_some(ROOT),
        },
        region: match problem.at {
            Some(At { line, column }) => Region { start_line: line, start_column: Some(column) },
            None => Region { start_line: 1, start_column: None },
        },
    });
    SarifResult {
        rule_id: finding.code.as_str(),
        rule_index: CODES.iter().position(|&code| code == finding.code).expect("bug: a code without a rule"),
        level: level(finding.severity),
        message: Text::new(&escaped(&problem.text())),
        locations: [document::Location {
            physical_location: physical,
            logical_locations: (!place.is_empty())
                .then(|| [LogicalLocation { fully_qualified_name: visible::line(&place), kind: "member" }]),
        }],
        occurrence_count: (!finding.code.rejects()).then(|| finding.count.get().min(document::MOST)),
        partial_fingerprints: Fingerprints::of(&problem.fingerprint.to_string()),
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// A message in which nothing is a link or a placeholder (SARIF 2.1.0, 3.11.5 and 3.11.6).
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]");
    text.replace('{', "{{").replace('}', "}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Code;
    use crate::finding::Place;
    use crate::report::ci::testing;
    use crate::report::testing as made;
    use serde_json::Value;

    fn log(receipt: &crate::receipt::document::Receipt, name: &str) -> Value {
        serde_json::from_str(&testing::format(receipt, name, json)).expect("JSON")
    }

    #[test]
    fn a_result_points_at_its_rule() {
        let log = log(&made::violated(&[&made::MEAN_OF_MEANS]), "a b/run.jsonl");
        let run = &log["runs"][0];
        let result = &run["results"][0];
        let index = result["ruleIndex"].as_u64().expect("an index") as usize;
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], "GA203");
        assert_eq!(result["ruleId"], "GA203");
        let location = &result["locations"][0];
        assert_eq!(location["physicalLocation"]["artifactLocation"]["uri"], "a%20b/run.jsonl");
        assert_eq!(
            location["logicalLocations"][0]["fullyQualifiedName"],
            "rank 0, event 3, window 0, at /backward/backward_loss"
        );
        let help = run["tool"]["driver"]["rules"][index]["help"]["markdown"].as_str().expect("a page");
        assert!(help.starts_with("## What it does\n"), "{help}");
    }

    #[test]
    fn nothing_in_a_message_is_a_link_or_a_placeholder() {
        let message = "[x](http://a) {0} \u{1b}";
        let log = log(&made::rejected(vec![made::finding(Code::GA107, Place::run(), message)]), "run.jsonl");
        let text = log["runs"][0]["results"][0]["message"]["text"].as_str().expect("a message");
        assert_eq!(text, "\\[x\\](http://a) {{0}} \\\\u{{1b}}");
    }

    #[test]
    fn a_fingerprint_outlives_its_numbers_and_tells_instances_apart() {
        let prints = |receipt: &crate::receipt::document::Receipt| -> Vec<Value> {
            let log = log(receipt, "run.jsonl");
            let results = log["runs"][0]["results"].as_array().expect("results").clone();
            results.iter().map(|result| result["partialFingerprints"]["problem/v1"].clone()).collect()
        };
        let first = made::violated(&[&made::MEAN_OF_MEANS]);
        let mut second = made::violated(&[&made::RIGHT, &made::MEAN_OF_MEANS]);
        second.findings[0].message = "weight 0.5".to_owned();
        second.findings[0].place = Place::event(0, 9).in_window(1);
        assert_eq!(prints(&first), prints(&second));
        assert_ne!(prints(&first)[0], prints(&first)[1]);
        let fault = |event| made::finding(Code::GA107, Place::event(0, event), "bad");
        let several = prints(&made::rejected(vec![fault(1), fault(2), fault(2)]));
        assert!(several[0] != several[1] && several[1] != several[2], "{several:?}");
        assert_eq!(several[..2], prints(&made::rejected(vec![fault(1), fault(2)])));
    }
}

//! GitLab's Code Quality report: a list of problems, shown in a merge request against those of its target branch.
//!
//! Format: GitLab's documentation of Code Quality, "Implement a custom tool".
use super::Checked;
use super::problem::Problem;
use super::problem::problems;
use crate::finding::Severity;
use crate::report::json;
use serde::Serialize;

#[derive(Serialize)]
struct Entry {
    description: String,
    check_name: String,
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u64,
}

/// The report; an empty list for a run without findings.
pub fn json(checked: &Checked<'_>) -> String {
    let entries: Vec<Entry> = problems(checked).into_iter().map(entry).collect();
    json::pretty(&entries)
}

fn entry(problem: Problem<'_>) -> Entry {
    let finding = problem.finding;
    Entry {
        description: format!("{} {}: {}", finding.code, finding.code.name(), problem.text()),
        check_name: finding.code.to_string(),
        fingerprint: problem.fingerprint.to_string(),
        severity: match finding.severity {
            Severity::Error if finding.code.rejects() => "blocker",
            Severity::Error => "critical",
            Severity::Warning => "minor",
        },
        location: Location {
            lines: Lines { begin: problem.at.map_or(1, |at| at.line) },
            path: problem.path.unwrap_or_else(|| "standard-input".to_owned()),
        },
    }
}

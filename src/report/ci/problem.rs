//! One thing that is wrong, with its place in a file: what every format for tools is made of.
use super::Checked;
use crate::canonical;
use crate::canonical::Digest;
use crate::finding::Place;
use crate::finding::Severity;
use crate::manifest::locate::Location;
use crate::receipt::document::FindingReport;
use crate::report::visible;
use crate::report::words;
use std::collections::BTreeMap;

/// Characters of a message; what is longer is cut, since no tool shows it whole.
const MESSAGE: usize = 2000;

/// A problem: a finding, or of a malformed manifest one instance of it.
#[derive(Clone, Debug)]
pub(super) struct Problem<'a> {
    /// The finding.
    pub(super) finding: &'a FindingReport,
    /// What is wrong, on one line and harmless.
    pub(super) message: String,
    /// How often and of what it is a symptom: clauses, harmless.
    pub(super) notes: Vec<String>,
    /// Where in the run.
    pub(super) place: Place,
    /// Path from the root; absent for standard input.
    pub(super) path: Option<String>,
    /// Where in that file; absent where the place is none in a file, such as a window over all ranks.
    pub(super) at: Option<At>,
    /// The same for the same problem of another recording under the same name.
    pub(super) fingerprint: Digest,
}

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    /// From 1.
    pub(super) line: u64,
    /// In characters, from 1.
    pub(super) column: u64,
}

impl Problem<'_> {
    /// Message and notes, a sentence each.
    pub(super) fn text(&self) -> String {
        let notes: String = self.notes.iter().map(|note| format!(" {}", words::sentence(note))).collect();
        let stop = if self.message.ends_with(['.', '…']) || notes.is_empty() { "" } else { "." };
        format!("{}{stop}{notes}", self.message)
    }

    /// `run.jsonl:3:10`, or the place in the run where it is none in a file.
    pub(super) fn origin(&self) -> String {
        match (&self.path, self.at) {
            (path, Some(At { line, column })) => {
                format!("{}:{line}:{column}", visible::line(path.as_deref().unwrap_or("standard input")))
            }
            (_, None) => visible::line(&words::place(&self.place)),
        }
    }
}

/// All problems, worst first.
pub(super) fn problems<'a>(checked: &Checked<'a>) -> Vec<Problem<'a>> {
    let mut seen = BTreeMap::new();
    let findings = checked.shown.receipt.findings.iter().enumerate();
    let of = |(index, finding): (usize, &'a FindingReport)| {
        let excerpts = checked.shown.excerpts_of(index);
        let notes = notes(finding, excerpts.len() > 1);
        let made = |message: &str, place: &Place, location: Option<&Location>, notes: Vec<String>| {
            let source = location.map(|location| &location.source).or(checked.inputs.first());
            let path = source.and_then(|source| checked.folders.relative(source));
            Problem {
                finding,
                message: cut(&visible::line(message)),
                notes,
                place: place.clone(),
                at: location.map(|location| At { line: location.line, column: location.column }),
                fingerprint: fingerprint(finding, path.as_deref(), place),
                path,
            }
        };
        match excerpts {
            [] => vec![made(&finding.message, &finding.place, None, notes)],
            excerpts => excerpts
                .iter()
                .enumerate()
                .map(|(index, each)| {
                    let notes = if index == 0 { notes.clone() } else { vec![] };
                    made(&each.message, &each.place, each.location.as_ref(), notes)
                })
                .collect(),
        }
    };
    let mut problems: Vec<Problem<'a>> = findings.flat_map(of).collect();
    for problem in &mut problems {
        distinguish(problem, &mut seen);
    }
    problems
}

fn notes(finding: &FindingReport, has_several: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let windows = words::windows_of(finding);
    if finding.count.get() > 1 {
        let count = words::count(finding.count.get(), "instance");
        let count = if has_several { format!("one of {count}") } else { format!("the worst of {count}") };
        notes.push(if windows.is_empty() { count } else { format!("{count}, in {windows}") });
    }
    if let Some(cause) = finding.caused_by {
        notes.push(format!("a symptom of {cause} {}", cause.name()));
    }
    notes
}

/// Of what does not change when the run is recorded again: what is wrong, in which file. Of a malformed manifest also
/// where, since each instance is to be mended by itself.
fn fingerprint(finding: &FindingReport, path: Option<&str>, place: &Place) -> Digest {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut parts = vec![finding.code.to_string(), severity.to_owned(), path.unwrap_or_default().to_owned()];
    if finding.code.rejects() {
        let number = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        parts.extend([number(place.rank), number(place.event), place.field.clone().unwrap_or_default()]);
    }
    canonical::digest(&parts).expect("bug: strings that are not canonical")
}

/// Two faults at one place have fingerprints of their own, by their order.
fn distinguish(problem: &mut Problem<'_>, seen: &mut BTreeMap<String, u64>) {
    let before = seen.entry(problem.fingerprint.to_string()).or_insert(0);
    if *before > 0 {
        let parts = [problem.fingerprint.to_string(), before.to_string()];
        problem.fingerprint = canonical::digest(&parts).expect("bug: strings that are not canonical");
    }
    *before += 1;
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

//! Repeated findings of one rule, folded into one: memory does not grow with the number of faults.
//!
//! What is kept does not depend on the number of threads: findings arrive in the order of windows, and ties go to the first.
use super::{Code, Finding, Place, Severity};
use std::collections::BTreeMap;

/// How many windows a folded finding names.
pub(super) const WINDOWS_NAMED: usize = 16;

/// How many single findings a folded one keeps, so that a person can be shown every fault of a malformed manifest.
pub(super) const INSTANCES_KEPT: usize = 64;

/// All findings of one code and severity.
#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    /// The code.
    pub code: Code,
    /// The severity.
    pub severity: Severity,
    /// Message of the worst (the first among equals).
    pub message: String,
    /// Place of the worst.
    pub place: Place,
    /// Magnitude of the worst.
    pub magnitude: f64,
    /// The first windows concerned, ascending, at most 16.
    pub windows: Vec<u64>,
    /// Number of findings folded.
    pub count: u64,
    /// The first findings, in the order in which they came, at most 64.
    pub instances: Vec<(Place, String)>,
}

/// Collects findings and folds them.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    by_code: BTreeMap<(Code, Severity), Folded>,
}

impl Findings {
    /// Takes in one finding.
    pub fn report(&mut self, finding: Finding) {
        let Finding { code, severity, message, place, magnitude } = finding;
        match self.by_code.get_mut(&(code, severity)) {
            None => {
                let windows = place.window.into_iter().collect();
                let instances = vec![(place.clone(), message.clone())];
                let folded = Folded { code, severity, message, place, magnitude, windows, count: 1, instances };
                self.by_code.insert((code, severity), folded);
            }
            Some(folded) => {
                folded.count += 1;
                if folded.instances.len() < INSTANCES_KEPT {
                    folded.instances.push((place.clone(), message.clone()));
                }
                if let Some(window) = place.window
                    && folded.windows.len() < WINDOWS_NAMED
                    && !folded.windows.contains(&window)
                {
                    folded.windows.push(window);
                }
                if magnitude > folded.magnitude {
                    (folded.message, folded.place, folded.magnitude) = (message, place, magnitude);
                }
            }
        }
    }

    /// Takes in all findings of another collection, after its own.
    pub fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.report(finding));
    }

    /// Whether there is none at all.
    pub fn is_empty(&self) -> bool {
        self.by_code.is_empty()
    }

    /// Whether any has this code.
    pub fn has(&self, code: Code) -> bool {
        [Severity::Error, Severity::Warning].iter().any(|&severity| self.by_code.contains_key(&(code, severity)))
    }

    /// The codes found, in order.
    pub fn codes(&self) -> impl Iterator<Item = Code> {
        self.by_code.keys().map(|(code, _)| *code)
    }

    /// Whether any rejects the manifest.
    pub fn rejects(&self) -> bool {
        self.by_code.keys().any(|(code, severity)| code.rejects() && *severity == Severity::Error)
    }

    /// Number of errors so far, each instance counted.
    pub fn errors(&self) -> u64 {
        let errors = self.by_code.values().filter(|folded| folded.severity == Severity::Error);
        errors.map(|folded| folded.count).sum()
    }

    /// Drops what was judged of a run that turned out to be malformed.
    pub fn keep_rejecting(&mut self) {
        self.by_code.retain(|(code, _), _| code.rejects());
    }

    /// Whether any is an error.
    pub fn has_errors(&self) -> bool {
        self.by_code.keys().any(|(_, severity)| *severity == Severity::Error)
    }

    /// The folded findings in order of code.
    pub fn into_folded(self) -> Vec<Folded> {
        self.by_code.into_values().collect()
    }
}

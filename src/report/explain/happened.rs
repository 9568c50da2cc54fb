//! What happened: totals, and findings with their symptoms below them.
use crate::finding::Severity;
use crate::receipt::document::FindingReport;
use crate::receipt::document::Receipt;
use crate::report::layout::Block;
use crate::report::layout::Line;
use crate::report::layout::Role;
use crate::report::layout::Section;
use crate::report::plain;
use crate::report::verdict;
use crate::report::words;

/// What happened.
pub(super) fn section(receipt: &Receipt) -> Option<Section> {
    let mut section = Section::new(if receipt.eligible { "What happened" } else { "Why it was rejected" });
    if let Some(totals) = &receipt.totals {
        section = section.paragraph(format!("{}.", verdict::totals(totals)));
    }
    if receipt.findings.is_empty() {
        return Some(section.paragraph("Nothing was found."));
    }
    let mut items = Vec::new();
    for root in roots(receipt) {
        add(&mut items, receipt, root, 0);
    }
    Some(section.with(Block::List(items)))
}

/// Findings that no listed finding explains.
fn roots(receipt: &Receipt) -> impl Iterator<Item = &FindingReport> {
    let is_listed = |cause| receipt.findings.iter().any(|finding| finding.code == cause);
    receipt.findings.iter().filter(move |finding| !finding.caused_by.is_some_and(is_listed))
}

/// A finding and below it its symptoms. Causes form no cycle, and a depth beyond the number of findings would be one.
fn add(items: &mut Vec<(usize, Line)>, receipt: &Receipt, finding: &FindingReport, depth: usize) {
    let (role, word) = match finding.severity {
        Severity::Error => (Role::Error, "error"),
        Severity::Warning => (Role::Warning, "warning"),
    };
    let windows = words::windows_of(finding);
    let count = words::count(finding.count.get(), "instance");
    let often = match (finding.count.get(), windows.is_empty()) {
        (1, true) => String::new(),
        (1, false) => format!(" ({windows})"),
        (_, true) => format!(" ({count})"),
        (_, false) => format!(" ({count}; {windows})"),
    };
    let worst = if finding.count.get() > 1 { ". The worst: " } else { ": " };
    let line = Line::new().with(role, word).text(" ").name(finding.code.as_str());
    let line = line.text(format!(" {}{often}. ", finding.name)).strong(plain::wrong(finding.code, finding.severity));
    let line = line.text(format!("{worst}{}", words::stopped(&finding.message)));
    items.push((depth, line));
    let symptoms =
        receipt.findings.iter().filter(|other| other.caused_by == Some(finding.code) && other.code != finding.code);
    if depth <= receipt.findings.len() {
        symptoms.for_each(|symptom| add(items, receipt, symptom, depth + 1));
    }
}

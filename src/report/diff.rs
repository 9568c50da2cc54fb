//! What `receipt diff` prints: where two receipts first differ, and a table of what changed.
use super::Style;
use super::layout::Block;
use super::layout::Line;
use super::layout::Role;
use super::layout::Section;
use super::layout::Table;
use super::layout::table::Cell;
use super::layout::text;
use super::number;
use super::words;
use crate::finding::Code;
use crate::finding::Severity;
use crate::receipt::Sealed;
use crate::receipt::diff::Change;
use crate::receipt::diff::Diff;
use crate::receipt::document::FindingReport;
use crate::receipt::document::Verdict;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// Differences of a part that are shown.
const SHOWN: usize = 8;

/// The same of parts in which every entry of a run may differ.
const SHOWN_OF_MANY: usize = 4;

/// Parts that follow from others, and so are only named.
const CONSEQUENCES: [&str; 5] = ["counterexample", "eligible", "input", "limitations", "verdict"];

/// Characters of a text that are shown.
const LONGEST: usize = 60;

/// A receipt with the name under which it was given.
pub type Named<'a> = (&'a str, &'a Sealed);

/// For people, newline at the end.
pub fn text(left: Named<'_>, right: Named<'_>, diff: &Diff, style: Style) -> String {
    let Some((part, change)) = diff.first() else {
        let hash = left.1.receipt().receipt_sha256.expect("bug: a sealed receipt without a hash");
        let line = Line::new().with(Role::Good, "equal").text(": ").name(left.0).text(" and ").name(right.0);
        return text::unbroken(&line.text(format!(" are the receipt {hash}")), style);
    };
    let named = |(name, sealed): Named<'_>| Line::new().name(name).text(format!(" ({})", verdict(sealed)));
    let line = Line::new().with(Role::Error, "differ").text(": ").join(named(left)).text(", ").join(named(right));
    let mut out = text::unbroken(&line, style);
    let first = Line::new().strong("first difference:").text(format!(" {}: ", place(part, change)));
    let first = first.text(side(change.left.as_ref())).text(" in ").name(left.0).text(", ");
    out.push_str(&text::unbroken(&first.text(side(change.right.as_ref())).text(" in ").name(right.0), style));
    out.push('\n');
    let section = Section::new("What changed").with(Block::Table(table(left.1, right.1, diff)));
    let consequences: Vec<String> =
        diff.parts.iter().map(|part| part.name.clone()).filter(|name| is_quiet(name)).collect();
    let section = match consequences.as_slice() {
        [] => section,
        names => section.paragraph(format!("Different as a consequence: {}.", words::list(names))),
    };
    out.push_str(&text::sections(&[section], style));
    out
}

fn is_quiet(part: &str) -> bool {
    CONSEQUENCES.contains(&part)
}

/// The same for programs.
pub fn json(left: Named<'_>, right: Named<'_>, diff: &Diff) -> String {
    #[derive(Serialize)]
    struct Side<'a> {
        name: &'a str,
        verdict: &'static str,
        receipt_sha256: String,
    }
    #[derive(Serialize)]
    struct Document<'a> {
        equal: bool,
        left: Side<'a>,
        right: Side<'a>,
        #[serde(flatten)]
        diff: &'a Diff,
    }
    fn side<'a>((name, sealed): Named<'a>) -> Side<'a> {
        let hash = sealed.receipt().receipt_sha256.expect("bug: a sealed receipt without a hash");
        Side { name, verdict: verdict(sealed), receipt_sha256: hash.to_string() }
    }
    let document = Document { equal: diff.is_empty(), left: side(left), right: side(right), diff };
    serde_json::to_string_pretty(&document).expect("bug: a difference that is not JSON") + "\n"
}

fn verdict(sealed: &Sealed) -> &'static str {
    match sealed.receipt().verdict {
        Verdict::Verified => "verified",
        Verdict::Violated => "violated",
        Verdict::Rejected => "rejected",
    }
}

/// Where, in words: `window 3 /loss`, `contract /clip/max_norm`, `formula`.
fn place(part: &str, change: &Change) -> String {
    match &*change.place {
        "" => part.to_owned(),
        place if place.starts_with('/') => format!("{part} {place}"),
        place => place.to_owned(),
    }
}

fn table(left: &Sealed, right: &Sealed, diff: &Diff) -> Table {
    let mut table = Table::new(&["what", "first", "second", "change"]);
    let mut left_out = Vec::new();
    for part in diff.parts.iter().filter(|part| !is_quiet(&part.name)) {
        if part.name == "findings" {
            findings(left, right).into_iter().for_each(|row| table.push(row));
            continue;
        }
        let shown = if matches!(&*part.name, "windows" | "microbatches") { SHOWN_OF_MANY } else { SHOWN };
        for change in part.changes.iter().take(shown) {
            table.push(vec![
                Cell::Text(place(&part.name, change)),
                Cell::Text(side(change.left.as_ref())),
                Cell::Text(side(change.right.as_ref())),
                Cell::or_empty(by_how_much(change).map(Cell::Text)),
            ]);
        }
        let more = part.changes.len().saturating_sub(shown) as u64 + part.more;
        if more > 0 {
            left_out.push(format!("{more} more in {}", part.name));
        }
    }
    table.left_out = (!left_out.is_empty()).then(|| format!("Not shown: {}.", words::list(&left_out)));
    table.without_empty_columns()
}

/// A row for each code that was found: how often and where on each side.
fn findings(left: &Sealed, right: &Sealed) -> Vec<Vec<Cell>> {
    let sides = [left, right].map(|sealed| &sealed.receipt().findings);
    let codes: BTreeSet<(Code, Severity)> =
        sides.iter().flat_map(|side| side.iter()).map(|finding| (finding.code, finding.severity)).collect();
    let row = |(code, severity): (Code, Severity)| {
        let [left, right] =
            sides.map(|side| side.iter().find(|finding| (finding.code, finding.severity) == (code, severity)));
        let change = match (left, right) {
            (left, right) if left == right => return None,
            (None, _) => "new",
            (_, None) => "gone",
            (Some(left), Some(right)) if left.count < right.count => "more often",
            (Some(left), Some(right)) if left.count > right.count => "less often",
            _ => "other numbers",
        };
        let warning = if severity == Severity::Warning { " (warning)" } else { "" };
        let what = format!("{code} {}{warning}", code.name());
        Some([what, often(left), often(right), change.to_owned()].map(Cell::Text).to_vec())
    };
    codes.into_iter().filter_map(row).collect()
}

fn often(finding: Option<&FindingReport>) -> String {
    let Some(finding) = finding else { return "not found".to_owned() };
    let windows = words::windows_of(finding);
    let count = words::count(finding.count.get(), "instance");
    if windows.is_empty() { count } else { format!("{count} ({windows})") }
}

/// What stands on one side.
fn side(value: Option<&Value>) -> String {
    match value {
        None => "absent".to_owned(),
        Some(Value::Null) => "null".to_owned(),
        Some(Value::String(text)) => shortened(text),
        Some(Value::Number(number)) if number.is_f64() => {
            number.as_f64().map_or_else(|| number.to_string(), number::exact)
        }
        Some(Value::Array(items)) if items.iter().all(|item| !item.is_object()) => {
            let items: Vec<String> = items.iter().map(|item| side(Some(item))).collect();
            shortened(&format!("[{}]", items.join(", ")))
        }
        Some(Value::Array(items)) => format!("a list of {}", items.len()),
        Some(Value::Object(_)) => "there".to_owned(),
        Some(other) => other.to_string(),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The second number over the first, in words; absent where one is no number or 0.
fn by_how_much(change: &Change) -> Option<String> {
    let number = |value: &Option<Value>| value.as_ref().and_then(Value::as_f64);
    let (left, right) = (number(&change.left)?, number(&change.right)?);
    let relative = (right - left) / left.abs();
    let sign = if relative < 0.0 { "−" } else { "+" };
    relative.is_finite().then(|| format!("{sign}{}", number::percent(relative.abs())))
}

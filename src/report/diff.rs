//! What `receipt diff` prints: where two receipts first differ, and a table of what changed.
use super::Style;
use super::json;
use super::layout::Block;
use super::layout::Line;
use super::layout::Role;
use super::layout::Section;
use super::layout::Table;
use super::layout::table::Cell;
use super::layout::text;
use super::number;
use super::words;
use crate::canonical::Finite;
use crate::finding::Code;
use crate::finding::Severity;
use crate::receipt::Sealed;
use crate::receipt::diff::Change;
use crate::receipt::diff::Diff;
use crate::receipt::document::FindingReport;
use crate::receipt::document::Verdict;
use crate::replay::ReplayReport;
use crate::replay::report::CounterexampleRun;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// Differences of a part that are shown.
const SHOWN: usize = 8;

/// The same of parts in which every entry of a run may differ.
const SHOWN_OF_MANY: usize = 4;

/// Parts that follow from others, and so are only named.
const CONSEQUENCES: [&str; 5] = ["counterexample", "eligible", "input", "limitations", "verdict"];

/// From how much on a change is a factor and no longer per cent.
const TIMES: f64 = 10.0;

/// Characters of a text that are shown.
const LONGEST: usize = 60;

/// A receipt with the name under which it was given.
pub type Named<'a> = (&'a str, &'a Sealed);

/// For people, newline at the end.
pub fn text(left: Named<'_>, right: Named<'_>, diff: &Diff, style: Style) -> String {
    let Some((part, change)) = diff.first() else {
        let hash = left.1.hash();
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
        let hash = sealed.hash();
        Side { name, verdict: verdict(sealed), receipt_sha256: hash.to_string() }
    }
    let document = Document { equal: diff.is_empty(), left: side(left), right: side(right), diff };
    json::pretty(&document)
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
        if let "findings" | "replay" = &*part.name {
            let rows = if part.name == "findings" { findings(left, right) } else { execution(left, right) };
            rows.into_iter().for_each(|row| table.push(row));
            continue;
        }
        let shown = if matches!(&*part.name, "windows" | "microbatches") { SHOWN_OF_MANY } else { SHOWN };
        for change in part.changes.iter().take(shown) {
            table.push(row(place(&part.name, change), change));
        }
        let more = part.changes.len().saturating_sub(shown) as u64 + part.more;
        if more > 0 {
            left_out.push(format!("{more} more in {}", part.name));
        }
    }
    table.left_out = (!left_out.is_empty()).then(|| format!("Not shown: {}.", words::list(&left_out)));
    table.without_empty_columns()
}

fn row(what: String, change: &Change) -> Vec<Cell> {
    vec![
        Cell::Text(what),
        Cell::Text(side(change.left.as_ref())),
        Cell::Text(side(change.right.as_ref())),
        Cell::or_empty(by_how_much(change).map(Cell::Text)),
    ]
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

/// What executing the runs showed: windows, and how far the worst of them and each recipe is off.
fn execution(left: &Sealed, right: &Sealed) -> Vec<Vec<Cell>> {
    let sides = [left, right].map(|sealed| numbers(sealed.receipt().replay.as_ref()));
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in sides[0].iter().chain(&sides[1]) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let of = |side: &[(String, Option<f64>)], name: &String| {
        side.iter().find(|(each, _)| each == name).and_then(|(_, value)| *value).map(Value::from)
    };
    let change = |name: &String| Change { place: String::new(), left: of(&sides[0], name), right: of(&sides[1], name) };
    let changes = names.into_iter().map(|name| (name, change(name))).filter(|(_, change)| change.left != change.right);
    changes.map(|(name, change)| row(name.clone(), &change)).collect()
}

fn numbers(replay: Option<&ReplayReport>) -> Vec<(String, Option<f64>)> {
    let Some(replay) = replay else { return Vec::new() };
    let worst = replay.worst.as_ref().and_then(|worst| worst.gradient.as_ref()).and_then(|drift| drift.relative);
    let mut numbers = vec![
        ("replay: windows executed".to_owned(), Some(replay.windows_judged.to_f64())),
        ("replay: windows off".to_owned(), Some(replay.windows_off.to_f64())),
        ("replay: worst gradient off".to_owned(), worst.map(Finite::get)),
    ];
    let recipe = |run: &CounterexampleRun| (format!("replay: {} off", run.recipe), run.gradient.map(Finite::get));
    numbers.extend(replay.counterexamples.iter().map(recipe));
    numbers
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
    match right / left {
        _ if !relative.is_finite() => None,
        times if times > TIMES => Some(format!("× {}", number::significant(times, 3))),
        _ => Some(format!("{sign}{}", number::percent(relative.abs()))),
    }
}

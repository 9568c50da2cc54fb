//! Counts, lists and places in words.
use crate::canonical::Count;
use crate::finding::Place;
pub use crate::numeric::shown::count;
use crate::receipt::document::FindingReport;

/// How many runs of windows are named before the rest is "and more".
const NAMED: usize = 6;

/// How many windows a receipt names of one finding at most: from there on there may be more.
const RECORDED: usize = 16;

/// `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// `window 3`, `windows 0–2 and 7`, `windows 0–15 and more`; empty for none.
pub fn windows(windows: &[Count], may_be_more: bool) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for window in windows.iter().map(|window| window.get()) {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == window => *last = window,
            _ => runs.push((window, window)),
        }
    }
    let mut named: Vec<String> = runs
        .iter()
        .take(NAMED)
        .map(|&(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first}, {last}"),
            _ => format!("{first}–{last}"),
        })
        .collect();
    if may_be_more || runs.len() > NAMED {
        named.push("more".to_owned());
    }
    match (windows, named.len()) {
        ([], _) => String::new(),
        ([one], 1) => format!("window {one}"),
        _ => format!("windows {}", list(&named)),
    }
}

/// The windows of a finding, in words; empty where it has none.
pub fn windows_of(finding: &FindingReport) -> String {
    windows(&finding.windows, finding.windows.len() >= RECORDED)
}

/// A place in words: `rank 0, event 12, window 3, at /backward/backward_loss`; empty for the run as a whole.
pub fn place(place: &Place) -> String {
    let parts = [
        place.rank.map(|rank| format!("rank {rank}")),
        place.event.map(|event| format!("event {event}")),
        place.window.map(|window| format!("window {window}")),
        place.field.as_ref().map(|field| format!("at {field}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The first sentence of a text: up to a full stop that follows a word and that a space or the end follows.
/// Abbreviations like `e.g.` are not looked for.
pub fn first_sentence(text: &str) -> &str {
    let is_after_word = |stop: &usize| !text[..*stop].ends_with(['.', ' ']);
    match text.match_indices(". ").map(|(stop, _)| stop).find(is_after_word) {
        Some(stop) => &text[..=stop],
        None => text,
    }
}

/// Clauses as a sentence: a capital letter at the beginning, unless it is a name's, and a full stop at the end.
pub fn sentence(text: &str) -> String {
    stopped(&capitalised(text))
}

/// A text with a capital letter at the beginning, unless it is a name's.
pub fn capitalised(text: &str) -> String {
    let is_word = text.split(' ').next().is_some_and(|word| word.chars().all(|c| c.is_ascii_lowercase()));
    match text.chars().next() {
        Some(first) if is_word => format!("{}{}", first.to_ascii_uppercase(), &text[1..]),
        _ => text.to_owned(),
    }
}

/// A text with a full stop at the end, unless it ends as a sentence does already.
pub fn stopped(text: &str) -> String {
    let stop = if text.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{text}{stop}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(windows: &[u64]) -> Vec<Count> {
        windows.iter().map(|&window| Count::new(window).expect("a count")).collect()
    }

    #[test]
    fn windows_in_runs() {
        assert_eq!(windows(&counts(&[]), false), "");
        assert_eq!(windows(&counts(&[3]), false), "window 3");
        assert_eq!(windows(&counts(&[0, 1]), false), "windows 0, 1");
        assert_eq!(windows(&counts(&[0, 1, 2, 7]), false), "windows 0–2 and 7");
        assert_eq!(windows(&counts(&[0, 1, 2, 3]), true), "windows 0–3 and more");
        assert_eq!(windows(&counts(&[0, 2, 4, 6, 8, 10, 12]), false), "windows 0, 2, 4, 6, 8, 10 and more");
    }

    #[test]
    fn places_and_sentences() {
        assert_eq!(place(&Place::event(0, 4).in_window(1).at("/clip")), "rank 0, event 4, window 1, at /clip");
        assert_eq!(place(&Place::run()), "");
        assert_eq!(sentence("nothing was found"), "Nothing was found.");
        assert_eq!(sentence("token-mean fits."), "token-mean fits.");
        assert_eq!(stopped("did you mean `b`?"), "did you mean `b`?");
        assert_eq!(stopped("it is `b`"), "it is `b`.");
        assert_eq!(first_sentence("One. Two."), "One.");
        assert_eq!(first_sentence("Only 1.5"), "Only 1.5");
        assert_eq!(first_sentence("In 0 .. W. Two."), "In 0 .. W.");
    }
}

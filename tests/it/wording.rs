//! The sentences of `receipt explain` for every fixture: stops, spaces and numbers.
use crate::formats::every_fixture;
use receipt::report::explain;

/// Words of which there are several.
const COUNTED: [&str; 16] = [
    "backwards",
    "clips",
    "elements",
    "events",
    "faults",
    "instances",
    "microbatches",
    "others",
    "places",
    "ranks",
    "steps",
    "targets",
    "ticks",
    "updates",
    "weights",
    "windows",
];

/// What no sentence of a report may hold.
fn slips(line: &str) -> Vec<&'static str> {
    let twice = line.match_indices("..").any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + 2..]);
        !before.ends_with([' ', '.', '[']) && (after.is_empty() || after.starts_with(' '))
    });
    let mut slips: Vec<&str> = vec!["?.", "!.", ". .", "  "];
    slips.retain(|slip| line.contains(slip));
    slips.extend(twice.then_some(".."));
    let words: Vec<&str> =
        line.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric())).collect();
    slips.extend(words.windows(2).filter(|two| two[0] == "1" && COUNTED.contains(&two[1])).map(|_| "1 of many"));
    slips
}

/// The lines of a report in Markdown that hold sentences, without indentation.
fn sentences(markdown: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    markdown.lines().map(str::trim).filter(move |line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence && !line.starts_with('|')
    })
}

#[test]
fn sentences_end_once() {
    let faults: Vec<String> =
        every_fixture(|checked| explain::markdown(&checked.shown, None).expect("no window was asked for"))
            .iter()
            .flat_map(|each| {
                let of = |line: &str| {
                    (!slips(line).is_empty()).then(|| format!("{}: {:?} in {line}", each.name, slips(line)))
                };
                sentences(&each.text).filter_map(of).collect::<Vec<_>>()
            })
            .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_slip_is_seen() {
    for line in ["did you mean `b`?.", "It is..", "It is. .", "one  two", "in 1 windows, and"] {
        assert_eq!(slips(line).len(), 1, "{line}");
    }
    for line in ["Count labels[..., 1:].", "did you mean `b`?", "`../a.json`", "Use 0 .. W.", "11 windows", "0.1 times"]
    {
        assert!(slips(line).is_empty(), "{line}");
    }
}

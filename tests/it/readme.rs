//! The README's example is what the program prints, and its commands name files that are there.
use assert_cmd::cargo::cargo_bin_cmd;
use std::fs;
use std::path::Path;

fn readme() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("the README")
}

/// The blocks of a language, without their fences.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("```{language}\n");
    text.split(&start).skip(1).map(|rest| rest.split("```").next().expect("a piece")).collect()
}

/// Whether every shown line is printed, in order; `…` stands for the rest of a line.
fn shows(shown: &str, printed: &str) -> Result<(), String> {
    let mut lines = printed.lines();
    for wanted in shown.lines().filter(|line| !line.is_empty()) {
        let start = wanted.strip_suffix('…').unwrap_or(wanted);
        let is_it = |line: &str| if start == wanted { line == wanted } else { line.starts_with(start) };
        if !lines.any(is_it) {
            return Err(format!("{wanted:?} is not printed, or not there, in\n{printed}"));
        }
    }
    Ok(())
}

fn receipt(arguments: &str) -> (String, i32) {
    let mut command = cargo_bin_cmd!("receipt");
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments.split_whitespace()).output();
    let output = output.expect("receipt runs");
    (String::from_utf8(output.stdout).expect("UTF-8"), output.status.code().expect("an exit code"))
}

#[test]
fn the_first_screen_is_what_is_printed() {
    let readme = readme();
    let [example] = blocks(&readme, "console")[..] else { panic!("one example is expected") };
    let (command, shown) = example.split_once('\n').expect("a command and its output");
    let (printed, exit) = receipt(command.strip_prefix("$ receipt ").expect("a command"));
    shows(shown, &printed).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(exit, 1);
    assert!(shows("no such line", &printed).is_err(), "the comparison can fail");
}

#[test]
fn the_manifests_shown_are_the_fixtures() {
    let readme = readme();
    let [bad, loop_] = blocks(&readme, "json")[..] else { panic!("two manifests are expected") };
    let fixture = |name: &str| {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/worked").join(name)).expect("a fixture")
    };
    let (_, events) =
        fixture("readme.jsonl").split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).expect("lines");
    assert_eq!(bad, events);
    let shown: Vec<serde_json::Value> = loop_.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let file = fixture("two-rank-loop/rank-0.jsonl");
    let recorded: Vec<serde_json::Value> = file.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(shown, recorded[..shown.len()]);
    let ranks = "verify fixtures/worked/two-rank-loop/rank-0.jsonl fixtures/worked/two-rank-loop/rank-1.jsonl";
    let (printed, exit) = receipt(ranks);
    assert_eq!(exit, 0, "{printed}");
}

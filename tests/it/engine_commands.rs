//! `receipt schedule` and `receipt selfcheck`: what they print, for people and for programs.

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::{Value, json};

fn receipt(arguments: &str) -> (String, i32) {
    let output = cargo_bin_cmd!("receipt").args(arguments.split_whitespace()).output().expect("receipt runs");
    (String::from_utf8(output.stdout).expect("UTF-8"), output.status.code().expect("an exit code"))
}

fn parsed(arguments: &str) -> Value {
    let (printed, code) = receipt(arguments);
    assert_eq!(code, 0, "{printed}");
    serde_json::from_str(&printed).expect("JSON")
}

#[test]
fn a_schedule_as_json() {
    let schedule = parsed("schedule --depth 64 --block 8 --snapshots 8 --format json");
    let block = json!({"block": 8, "boundaries": 8, "bound": 16, "alive": 16, "transitions": 56, "counted": [16, 56]});
    assert_eq!(schedule["blocks"], json!([block]));
    assert_eq!(schedule["store_all"], 65);
    assert_eq!(
        (&schedule["snapshots"][0]["total"], &schedule["snapshots"][0]["counted"]),
        (&json!(201), &json!([8, 201]))
    );
    for model in ["state_model", "tape_model"] {
        assert!(schedule[model].as_str().is_some_and(|text| text.len() > 100), "{model} is defined");
    }
    let best = schedule["best_blocks"].as_array().expect("a list");
    assert_eq!((best.len(), &best[0]["depth"], &best[8]["depth"]), (9, &json!(16), &json!(4096)));
    let of_ten = parsed("schedule --depth 10 --snapshots 3 --format json");
    assert_eq!(of_ten["snapshots"][0]["total"], 25);
}

#[test]
fn a_schedule_as_text() {
    let (printed, code) = receipt("schedule --depth 64");
    assert_eq!(code, 0);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let has = |row: &str| printed.lines().any(|line| words(line) == words(row));
    assert!(has("8 8 16 16 56 16 56"), "{printed}");
    assert!(has("8 3 137 64 201 8 201"), "{printed}");
    assert!(printed.contains("State model:") && printed.contains("Tape model:") && printed.contains("█"));
}

#[test]
fn a_schedule_as_a_picture_by_itself() {
    for arguments in ["--depth 1", "--depth 64", "--depth 65536", "--depth 64 --block 8 --snapshots 3"] {
        let (picture, code) = receipt(&format!("schedule {arguments} --format svg"));
        assert_eq!(code, 0);
        if let Err(error) = uppsala::parse(&picture) {
            panic!("no XML: {error}\n{picture}");
        }
        assert!(picture.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\""), "{picture}");
        assert!(picture.contains("prefers-color-scheme: dark") && picture.contains("<desc"), "{picture}");
        let without_namespace = picture.replace("http://www.w3.org/2000/svg", "");
        for loading in ["http", "href", "url(", "@import", "<script"] {
            assert!(!without_namespace.contains(loading), "{loading} in {picture}");
        }
    }
}

#[test]
fn a_schedule_as_a_page_shows_what_the_table_holds() {
    let arguments = "schedule --depth 64 --block 8 --snapshots 8";
    let (page, code) = receipt(&format!("{arguments} --format html"));
    assert_eq!(code, 0);
    let row = &parsed(&format!("{arguments} --format json"))["blocks"][0];
    let mark = format!("<title>k = 8: {} kept, {} extra forward steps</title>", row["alive"], row["transitions"]);
    assert!(page.contains(&mark) && page.contains("<title>s = 8: 8 kept, 137 extra forward steps</title>"), "{page}");
    assert_eq!((page.matches("<svg").count(), page.matches("<table").count()), (1, 3), "{page}");
    assert!(!page.contains('█') && !page.contains("http:") && page.contains("default-src 'none'"), "{page}");
}

#[test]
fn a_report_marks_the_plan_that_its_replay_used() {
    let fixture = "fixtures/rules/GA703-recompute-mismatch/good.json";
    let (page, code) = receipt(&format!("explain {fixture} --format html"));
    assert_eq!(code, 0);
    assert!(page.contains("What recomputing 3 blocks costs and keeps"), "{page}");
    assert_eq!(page.matches("class=\"ring\"").count(), 1, "{page}");
    assert!(page.contains("this replay's plan, k = 1, ") && page.contains("3 block runs were counted"), "{page}");
    let (page, _) = receipt("explain fixtures/worked/readme.jsonl --format html");
    assert!(!page.contains("id=\"recompute\""), "nothing was recomputed: {page}");
}

#[test]
fn impossible_depths_are_usage() {
    for wrong in ["--depth 0", "--depth 65537", "--depth 8 --block 0", "--depth 8 --snapshots 0", ""] {
        assert_eq!(receipt(&format!("schedule {wrong}")).1, 2, "{wrong}");
    }
    let (printed, code) = receipt("schedule --depth 65536 --block 256 --snapshots 16");
    assert_eq!(code, 0, "{printed}");
}

#[test]
fn the_selfcheck_agrees_here() {
    let checked = parsed("selfcheck --format json");
    assert_eq!(checked["agrees"], true);
    let answers = checked["answers"].as_array().expect("a list");
    assert!(answers.iter().all(|answer| answer["agrees"] == true));
    let asked = |expected: &str| answers.iter().filter(|answer| answer["expected"] == expected).count();
    for known in ["(144.0, 132.0)", "(90.0, 96.0)", "(72.0, 84.0)", "(102, 816)", "[25, 75, 201, 416]", "(16, 56, 65)"]
    {
        assert!(asked(known) >= 1, "{known} is asked");
    }
    assert_eq!(checked["finite_differences"]["steps"].as_array().map(Vec::len), Some(24));
    let (printed, code) = receipt("selfcheck");
    assert_eq!(code, 0);
    assert!(printed.contains(&format!("agrees: {} known answers", answers.len())), "{printed}");
    assert!(!printed.contains("Some(") && !printed.contains("Ok("), "no Rust in what people read");
}

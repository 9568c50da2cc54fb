//! The first three lines of `explain` for every recording, as a stranger reads them: `fixtures/first-lines.txt`.
//! `UPDATE=1 cargo test` rewrites it; read what changed.
use crate::fixtures;
use crate::runs::{self, binary};

#[test]
fn a_stranger_is_told_what_is_wrong_and_what_to_change() {
    let mut all = String::new();
    for entry in fixtures::entries(&runs::fixture("recorded")) {
        let name = entry.file_name().expect("a name").to_string_lossy().into_owned();
        let path = if entry.is_dir() { entry.join("rank-manifest.json") } else { entry };
        if !name.ends_with(".jsonl") && !path.ends_with("rank-manifest.json") {
            continue;
        }
        let ran = binary::run(["explain".as_ref(), path.as_os_str()]);
        let lines: Vec<&str> = ran.out.lines().take(3).map(str::trim_end).collect();
        let is_wrong = lines[0].starts_with("violated: ");
        assert_eq!(lines[1].starts_with("What is wrong: "), is_wrong, "{name}: {lines:#?}");
        assert_eq!(lines[2].starts_with("What to change: "), is_wrong, "{name}: {lines:#?}");
        let is_warned = lines[2].starts_with("What you may change: ");
        assert_eq!(is_warned, lines[1].contains("Worth knowing: "), "{name}: {lines:#?}");
        all.push_str(&lines.join("\n"));
        all.push_str(if is_wrong || is_warned { "\n\n" } else { "\n" });
    }
    runs::assert_fresh(&runs::fixture("first-lines.txt"), &all);
}

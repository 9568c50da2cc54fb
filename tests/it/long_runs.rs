//! How large reports of a long run become: what does not grow with the run stays small.
use crate::runs::binary;
use std::path::Path;

#[path = "../../benches/runs/long.rs"]
mod long;

/// Enough that no part of a report lists all of them; `benches/explain.rs` has the sizes of 100 000.
const WINDOWS: u64 = 5_000;

/// Of one HTML file that is looked at or sent.
const PAGE: usize = 2_000_000;

/// GitHub's limit on a comment, in characters; a job's summary may have 1 MiB.
const COMMENT: usize = 65_536;

fn explain(format: &str, path: &Path) -> String {
    let arguments = ["explain", "--replay-targets", "200", "--format", format].map(std::ffi::OsStr::new);
    let ran = binary::run(arguments.into_iter().chain([path.as_os_str()]));
    assert_eq!(ran.code, 0, "{}", ran.shown());
    ran.out
}

#[test]
fn reports_of_a_long_run_are_small() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.jsonl");
    long::write(&path, WINDOWS).expect("written");
    let page = explain("html", &path);
    assert!(page.len() < PAGE, "{} bytes", page.len());
    assert!(page.contains("id=\"replay-description\""), "the replay is drawn");
    let markdown = explain("markdown", &path);
    assert!(markdown.chars().count() < COMMENT, "{} characters", markdown.chars().count());
}

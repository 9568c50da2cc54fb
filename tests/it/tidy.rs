//! What the compiler can't check: layering, module docs, file length, dead files.
use std::fs;
use std::path::{Path, PathBuf};

/// A module may use itself and the layers above it in this list; modules of one layer do not see each other.
const LAYERS: &[&[&str]] = &[
    &["numeric", "canonical", "record"],
    &["finding"],
    &["manifest", "autograd", "optimizer"],
    &["decoder", "align", "ledger", "clock"],
    &["replay", "selfcheck"],
    &["rules"],
    &["judge"],
    &["receipt"],
    &["report"],
    &["pipeline"],
];

/// Lines of a file beyond which it holds more than one idea.
const LONGEST: usize = 450;

fn rust_files(dir: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            rust_files(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

/// The library modules that a line of code names.
fn used(line: &str) -> impl Iterator<Item = String> {
    line.replace("$crate::", "")
        .split("crate::")
        .skip(1)
        .map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
        .collect::<Vec<String>>()
        .into_iter()
}

fn layering_faults(file: &str, own: &str, text: &str) -> Vec<String> {
    let Some(layer_of_own) = layer(own) else { return vec![] };
    let mut faults = vec![];
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
        if line.contains("crate::{") || line.contains("super::super") {
            faults.push(format!(
                "{file}:{}: one `use crate::module` to a line, so that layering can be read",
                number + 1
            ));
        }
        for name in used(line) {
            if let Some(other) = layer(&name)
                && (other > layer_of_own || (other == layer_of_own && name != own && other != 0))
            {
                faults.push(format!("{file}:{}: `{own}` may not use `{name}`", number + 1));
            }
        }
    }
    faults
}

#[test]
fn layers_are_kept() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![];
    rust_files(&src, &mut files);
    let mut faults = vec![];
    for file in files {
        let text = fs::read_to_string(&file).expect("a source file");
        let inside = file.strip_prefix(&src).expect("a file below src").to_str().expect("UTF-8").to_owned();
        let top = inside.split('/').next().expect("a component").trim_end_matches(".rs").to_owned();
        if !text.starts_with("//!") {
            faults.push(format!("{inside}: does not open with module docs"));
        }
        if text.lines().count() > LONGEST {
            faults.push(format!("{inside}: over {LONGEST} lines"));
        }
        if inside.contains('/') && top != "bin" && layer(&top).is_none() {
            faults.push(format!("{inside}: `{top}` stands in no layer"));
        }
        faults.extend(layering_faults(&inside, &top, &text));
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn the_layering_test_can_fail() {
    assert_eq!(layering_faults("x.rs", "ledger", "use crate::clock::Clock;").len(), 1, "a sibling");
    assert_eq!(layering_faults("x.rs", "manifest", "use crate::rules::Rule;").len(), 1, "a higher layer");
    assert_eq!(layering_faults("x.rs", "rules", "use crate::{clock, report};").len(), 1, "a grouped import");
    assert_eq!(layering_faults("x.rs", "rules", "use crate::clock::Clock;").len(), 0);
}

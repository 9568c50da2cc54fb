//! `receipt diff`: nothing that differs is missed, and the exit code says which case it is.
use crate::runs::{self, binary, edit};
use receipt::canonical;
use receipt::receipt::diff::Diff;
use receipt::receipt::{Sealed, check};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A receipt with this content, sealed again, as another program could; absent where it is no receipt any more.
fn sealed(tree: &Value) -> Option<Sealed> {
    let mut tree = tree.clone();
    tree.as_object_mut().expect("an object").remove("receipt_sha256");
    tree["receipt_sha256"] = json!(canonical::digest(&tree).ok()?.to_string());
    check::read(&canonical::to_vec(&tree).ok()?).ok()
}

/// Another value of the same kind.
fn other(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Bool(is_so) => json!(!is_so),
        Value::Number(number) if number.is_u64() => json!(number.as_u64()? + 1),
        Value::Number(number) => json!(number.as_f64()? * 2.0 + 1.5),
        Value::String(text) if text.len() == 64 => json!(text.replace(&text[..1], "a").replace(&text[1..2], "b")),
        Value::String(text) => json!(format!("{text}x")),
        _ => return None,
    })
}

#[test]
fn every_leaf_makes_a_difference() {
    let verified = runs::verify_files(&[runs::fixture("worked/three-six-one-mean-of-means.json")]);
    let tree = runs::tree(&verified);
    let mut compared = 0;
    for pointer in edit::leaves(&tree).iter().filter(|pointer| *pointer != "/receipt_sha256") {
        let Some(changed) = other(tree.pointer(pointer).expect("a leaf")) else { continue };
        let Some(changed) = sealed(&edit::with(&tree, pointer, changed)) else { continue };
        let diff = Diff::of(&verified.sealed, &changed);
        let field = pointer.split('/').nth(1).expect("a field");
        assert_eq!(diff.parts.iter().map(|part| &*part.name).collect::<Vec<_>>(), [field], "{pointer}");
        assert_ne!(diff, Diff::of(&verified.sealed, &verified.sealed));
        compared += 1;
    }
    assert!(compared > 80, "only {compared} leaves could be changed");
}

#[test]
fn what_is_not_kept_is_counted() {
    let [a, b] = ["hf445_llama_f32", "hf446_llama_f32"]
        .map(|name| runs::verify_files(&[runs::fixture(&format!("recorded/{name}.jsonl"))]));
    let diff = Diff::of(&a.sealed, &b.sealed);
    let part = |name: &str| diff.parts.iter().find(|part| part.name == name).expect("a part");
    // Microbatches have the same fields in both, so that leaves can be counted one by one.
    let trees = [runs::tree(&a), runs::tree(&b)];
    let leaves = edit::leaves(&trees[0]["microbatches"]);
    let differ =
        leaves.iter().filter(|leaf| trees[0]["microbatches"].pointer(leaf) != trees[1]["microbatches"].pointer(leaf));
    let expected = differ.count() as u64;
    let part = part("microbatches");
    assert_eq!(part.changes.len(), 60, "all are kept here");
    assert_eq!(part.changes.len() as u64 + part.more, expected);
    let windows = diff.parts.iter().find(|part| part.name == "windows").expect("windows");
    assert!(windows.changes.len() == 64 && windows.more > 0, "{} and {} more", windows.changes.len(), windows.more);
}

fn written(folder: &Path, name: &str, fixture: &str, more: &[&str]) -> PathBuf {
    let path = folder.join(name);
    let fixture = runs::fixture(fixture);
    let start: [&std::ffi::OsStr; 4] = ["verify".as_ref(), fixture.as_os_str(), "--receipt".as_ref(), path.as_os_str()];
    binary::run(start.into_iter().chain(more.iter().map(std::ffi::OsStr::new)));
    path
}

fn diff(left: &Path, right: &Path, more: &[&str]) -> binary::Ran {
    let start: [&std::ffi::OsStr; 3] = ["diff".as_ref(), left.as_os_str(), right.as_os_str()];
    binary::run(start.into_iter().chain(more.iter().map(std::ffi::OsStr::new)))
}

#[test]
fn the_exit_code_says_which() {
    let folder = tempfile::tempdir().expect("a folder");
    let right = written(folder.path(), "right.json", "worked/three-six-one.json", &[]);
    let wrong = written(folder.path(), "wrong.json", "worked/three-six-one-mean-of-means.json", &[]);
    let same = diff(&right, &right, &[]);
    assert_eq!(same.code, 0, "{}", same.shown());
    assert!(same.out.starts_with("equal: "), "{}", same.out);
    let differ = diff(&right, &wrong, &[]);
    assert_eq!(differ.code, 1, "{}", differ.shown());
    for said in [
        "differ: ",
        "right.json (verified), ",
        "wrong.json (violated)\nfirst difference: window 0 /accumulated/gradient: [0.1] in ",
        "  GA203 weight-drift ",
        "  window 0 /accumulated/loss ",
        " −16.7 %\n",
        "  replay: windows off ",
        "Not shown: 6 more in windows.",
        "Different as a consequence: input, limitations and verdict.",
    ] {
        assert!(differ.out.contains(said), "{said:?} is not said in\n{}", differ.out);
    }
    let changed = folder.path().join("changed.json");
    let text = fs::read_to_string(&right).expect("a receipt");
    fs::write(&changed, text.replace("\"loss\":0.64", "\"loss\":0.65")).expect("a file");
    for (left, right, said) in [
        (&right, &changed, "GA801"),
        (&changed, &right, "GA801"),
        (&right, &runs::fixture("worked/readme.jsonl"), "is a manifest, not a receipt"),
    ] {
        let ran = diff(left, right, &[]);
        assert_eq!(ran.code, 3, "{}", ran.shown());
        assert!(ran.out.contains(said), "{}", ran.out);
    }
    assert_eq!(diff(&right, &folder.path().join("none.json"), &[]).code, 2);
}

#[test]
fn programs_read_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let full = written(folder.path(), "full.json", "worked/three-six-one.json", &[]);
    let summary = written(folder.path(), "summary.json", "worked/three-six-one.json", &["--detail", "summary"]);
    let ran = diff(&full, &summary, &["--format", "json"]);
    let document: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((ran.code, &document["equal"]), (1, &json!(false)));
    let parts: Vec<&str> =
        document["parts"].as_array().expect("parts").iter().filter_map(|part| part["name"].as_str()).collect();
    assert_eq!(parts, ["options", "windows", "microbatches", "replay"]);
    assert_eq!(document["parts"][1]["changes"][0]["right"], Value::Null);
    let same = diff(&full, &full, &["--format", "json"]);
    let document: Value = serde_json::from_str(&same.out).expect("JSON");
    assert_eq!((same.code, &document["equal"], &document["parts"]), (0, &json!(true), &json!([])));
}

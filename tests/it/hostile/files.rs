//! Files that can't be read or written, references that lead astray, and what is written where nothing should be.
use super::texts::{harmless, names};
use crate::runs::binary::{self, Ran};
use crate::runs::{self, document, edit};
use receipt::canonical::Digest;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder with `worked/two-ranks.json` by reference; rank 1's file is named, and perhaps stands, elsewhere.
struct Referenced {
    folder: tempfile::TempDir,
}

impl Referenced {
    fn new(name: &str) -> Self {
        let manifest = document("worked/two-ranks.json");
        let folder = tempfile::tempdir().expect("a folder");
        let run = folder.path().join("run");
        fs::create_dir(&run).expect("a folder");
        let mut document = manifest.clone();
        for (rank, entry) in edit::ranks(&manifest).iter().enumerate() {
            let text = edit::lines(entry, None, "\n");
            let file = format!("rank-{rank}.jsonl");
            fs::write(run.join(&file), &text).expect("written");
            let name = if rank == 1 { name } else { file.as_str() };
            document["ranks"][rank] =
                json!({"rank": rank, "microbatch_manifest": name, "sha256": Digest::of(text.as_bytes())});
        }
        fs::write(run.join("rank-manifest.json"), document.to_string()).expect("written");
        Referenced { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn verify(&self) -> Ran {
        let ran = binary::verify(&self.path("run/rank-manifest.json"));
        harmless(&ran);
        ran
    }

    fn is_refused(&self, said: &str) {
        let ran = self.verify();
        assert_eq!(ran.code, 3, "{}", ran.shown());
        let shown = ran.shown();
        assert!(shown.contains("GA116") && shown.contains("rank-manifest.json:1:") && shown.contains(said), "{shown}");
    }
}

#[test]
fn references() {
    assert_eq!(Referenced::new("rank-1.jsonl").verify().code, 0);
    Referenced::new("../run/rank-1.jsonl").is_refused("`..`");
    Referenced::new("none.jsonl").is_refused("cannot be read");
    let absolute = Referenced::new("rank-1.jsonl");
    let there = absolute.path("run/rank-1.jsonl");
    Referenced::new(there.to_str().expect("UTF-8")).is_refused("absolute");
    let altered = Referenced::new("rank-1.jsonl");
    let file = altered.path("run/rank-1.jsonl");
    let text = fs::read_to_string(&file).expect("rank 1");
    fs::write(&file, text.replacen("1.0", "1.5", 1) + " ").expect("written");
    altered.is_refused("SHA-256");
}

#[cfg(unix)]
#[test]
fn references_through_symbolic_links() {
    use std::os::unix::fs::symlink;
    let out = Referenced::new("link.jsonl");
    fs::rename(out.path("run/rank-1.jsonl"), out.path("elsewhere.jsonl")).expect("moved");
    symlink(out.path("elsewhere.jsonl"), out.path("run/link.jsonl")).expect("a link");
    out.is_refused("folder");
    let by_folder = Referenced::new("below/rank-1.jsonl");
    fs::create_dir(by_folder.path("elsewhere")).expect("a folder");
    fs::rename(by_folder.path("run/rank-1.jsonl"), by_folder.path("elsewhere/rank-1.jsonl")).expect("moved");
    symlink(by_folder.path("elsewhere"), by_folder.path("run/below")).expect("a link");
    by_folder.is_refused("folder");
    // One that stays inside leads nowhere else.
    let inside = Referenced::new("link.jsonl");
    symlink("rank-1.jsonl", inside.path("run/link.jsonl")).expect("a link");
    assert_eq!(inside.verify().code, 0);
}

#[test]
fn what_cannot_be_read_is_no_verdict() {
    let folder = tempfile::tempdir().expect("a folder");
    let usage = |arguments: &[&OsStr], said: &str| {
        let ran = binary::run(arguments.iter().copied());
        assert_eq!(ran.code, 2, "{}", ran.shown());
        assert!(ran.out.is_empty(), "{}", ran.out);
        assert!(ran.err.contains(said), "{}", ran.err);
        harmless(&ran);
    };
    let (verify, none) = (OsStr::new("verify"), folder.path().join("none.json"));
    usage(&[verify, folder.path().as_os_str()], "cannot read");
    usage(&[verify, none.as_os_str()], "cannot read");
    let worked = runs::fixture("worked/two-ranks.json");
    usage(&[verify, worked.as_os_str(), worked.as_os_str()], "twice");
    let other = runs::fixture("worked/three-six-one.json");
    usage(&[verify, worked.as_os_str(), other.as_os_str()], "alone");
    usage(&[verify], "MANIFEST");
    usage(&[verify, other.as_os_str(), OsStr::new("--previous"), none.as_os_str()], "cannot read");
    usage(&[verify, other.as_os_str(), OsStr::new("--detail"), OsStr::new("most")], "--detail");
    usage(&[OsStr::new("check"), none.as_os_str()], "cannot read");
    // Whatever the verdict may be: usage is usage.
    usage(&[verify, none.as_os_str(), OsStr::new("--exit-zero")], "cannot read");
}

#[test]
fn a_receipt_that_cannot_be_written_is_no_verdict() {
    let folder = tempfile::tempdir().expect("a folder");
    let worked = runs::fixture("worked/three-six-one.json");
    let receipt = |to: &Path| {
        let ran = binary::run(["verify".as_ref(), worked.as_os_str(), "--receipt".as_ref(), to.as_os_str()]);
        assert_eq!(ran.code, 2, "{}", ran.shown());
        assert!(ran.err.contains("cannot write"), "{}", ran.err);
    };
    receipt(&folder.path().join("none/receipt.json"));
    receipt(folder.path());
    assert_eq!(names(folder.path()), [] as [&str; 0], "nothing half-written is left");
}

#[test]
fn a_receipt_is_written_whole_and_is_what_is_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("receipt.json");
    fs::write(&to, "old").expect("written");
    for (name, code) in [("worked/three-six-one.json", 0), ("worked/two-ranks-tail-disagreement.json", 3)] {
        let path = runs::fixture(name);
        let arguments = ["verify", "--format", "json", "--receipt"].map(OsStr::new);
        let ran = binary::run(arguments.into_iter().chain([to.as_os_str(), path.as_os_str()]));
        assert_eq!(ran.code, code);
        assert_eq!(fs::read_to_string(&to).expect("the receipt"), ran.out.trim_end_matches('\n'));
        assert_eq!(names(folder.path()), ["receipt.json"]);
    }
}

#[test]
fn a_rejected_manifest_is_archived_without_its_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = document("worked/three-six-one.json")
        .to_string()
        .replace("w0-m1", "secret-name")
        .replace("w0-m0", "secret-name");
    let path = folder.path().join("m.json");
    fs::write(&path, manifest).expect("written");
    let archive = folder.path().join("archive");
    fs::create_dir(&archive).expect("a folder");
    let arguments = ["verify".as_ref(), path.as_os_str(), "--archive-rejected".as_ref(), archive.as_os_str()];
    assert_eq!(binary::run(arguments).code, 3);
    let stored = names(&archive);
    assert_eq!(stored.len(), 1, "{stored:?}");
    let text = fs::read_to_string(archive.join(&stored[0])).expect("the receipt");
    let receipt: Value = serde_json::from_str(&text).expect("JSON");
    assert!(!text.contains("secret-name"), "{text}");
    assert!(text.contains("m0001"), "{text}");
    assert_eq!(stored[0], format!("{}.json", receipt["receipt_sha256"].as_str().expect("a hash")));
    // What is accepted is not archived.
    let good = runs::fixture("worked/three-six-one.json");
    let arguments = ["verify".as_ref(), good.as_os_str(), "--archive-rejected".as_ref(), archive.as_os_str()];
    assert_eq!(binary::run(arguments).code, 0);
    assert_eq!(names(&archive).len(), 1);
}

#[test]
fn exit_zero_changes_the_exit_code_and_nothing_else() {
    for name in ["worked/three-six-one-logs-mean-of-means.json", "worked/two-ranks-tail-disagreement.json"] {
        let path = runs::fixture(name);
        let plain = binary::verify(&path);
        let zero = binary::run(["verify".as_ref(), path.as_os_str(), "--exit-zero".as_ref()]);
        assert_ne!(plain.code, 0);
        assert_eq!((zero.code, zero.out), (0, plain.out));
    }
}

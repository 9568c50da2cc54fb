//! Standard input, pipes that close early, archives that are torn or never end, and runs that still go on.
use super::texts::harmless;
use crate::runs::binary::{self, Ran};
use crate::runs::{document, edit, fixture};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::best());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 3).expect("memory")
}

/// `worked/tail-flush.json` as a microbatch manifest.
fn lines() -> String {
    let manifest = document("worked/tail-flush.json");
    edit::lines(&manifest["ranks"][0], Some(&manifest["contract"]), "\n")
}

fn verify(bytes: &[u8], more: &[&str]) -> Ran {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.jsonl");
    fs::write(&path, bytes).expect("written");
    let ran = binary::run(["verify".as_ref(), path.as_os_str()].into_iter().chain(more.iter().map(AsRef::as_ref)));
    harmless(&ran);
    ran
}

#[test]
fn standard_input() {
    let json = ["verify", "--format", "json", "-"];
    for bytes in [lines().into_bytes(), gzip(lines().as_bytes()), zstd(lines().as_bytes())] {
        let ran = binary::run_with_input(json, &bytes);
        assert_eq!(ran.code, 0, "{}", ran.shown());
        let path = fixture("worked/tail-flush.json");
        let file = binary::run(["verify".as_ref(), "--format".as_ref(), "json".as_ref(), path.as_os_str()]);
        assert_eq!(ran.out, file.out);
    }
    let bad = binary::run_with_input(["verify", "-"], b"{\"a\":1}\n");
    assert_eq!(bad.code, 3);
    assert!(bad.shown().contains("standard input"), "the place is named: {}", bad.shown());
    assert_eq!(binary::run_with_input(["verify", "-"], b"").code, 3);
    assert_eq!(binary::run_with_input(["verify", "-", "-"], b"").code, 2);
}

#[test]
fn a_pipe_that_closes_early_ends_quietly() {
    let path = fixture("worked/fully-witnessed.json");
    for arguments in [vec!["verify", "--format", "json"], vec!["verify"], vec!["explain"]] {
        let mut child = binary::command();
        child.args(&arguments).arg(&path).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().expect("the binary runs");
        drop(child.stdout.take());
        let status = child.wait().expect("the binary ends");
        let mut said = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("UTF-8");
        assert_eq!((status.code(), said.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn archives_that_are_torn_or_altered() {
    let text = lines();
    for whole in [gzip(text.as_bytes()), zstd(text.as_bytes())] {
        assert_eq!(verify(&whole, &[]).code, 0);
        for keep in [5, 12, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
            let ran = verify(&whole[..keep], &[]);
            assert_eq!((ran.code, ran.shown().contains("GA101")), (3, true), "{keep}: {}", ran.shown());
        }
        let ran = verify(&[&whole[..], b"garbage"].concat(), &[]);
        assert_eq!(ran.code, 3, "what follows an archive is not ignored: {}", ran.shown());
        let mut altered = whole.clone();
        let middle = altered.len() / 2;
        altered[middle] ^= 0x10;
        assert_eq!(verify(&altered, &[]).code, 3);
    }
}

#[test]
fn archives_that_hardly_end() {
    // 20 MiB of one byte in some kilobytes.
    let bomb = vec![b' '; 20 << 20];
    for packed in [gzip(&bomb), zstd(&bomb)] {
        assert!(packed.len() < 100_000);
        let ran = verify(&packed, &[]);
        assert_eq!(ran.code, 3, "{}", ran.shown());
        let after_a_header =
            [gzip(format!("{}\n", lines().lines().next().expect("a header")).as_bytes()), gzip(&bomb)].concat();
        let ran = verify(&after_a_header, &[]);
        assert_eq!((ran.code, ran.shown().contains("GA115")), (3, true), "{}", ran.shown());
    }
}

#[test]
fn a_run_that_still_goes_on() {
    let text = lines();
    let torn = &text[..text.len() - 30];
    assert_eq!(verify(torn.as_bytes(), &[]).code, 3);
    let ran = verify(torn.as_bytes(), &["--partial"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(ran.shown().contains("GA101"), "a torn last line is told of: {}", ran.shown());
    // Wherever it breaks off: no fault is invented, and no window is judged that is not done.
    let header = text.find('\n').expect("a header");
    for cut in (header + 1..text.len()).step_by(7) {
        let ran = verify(&text.as_bytes()[..cut], &["--partial"]);
        assert_eq!(ran.code, 0, "cut at {cut}: {}", ran.shown());
    }
    let packed = gzip(text.as_bytes());
    assert_eq!(verify(&packed[..packed.len() - 20], &["--partial"]).code, 0, "a torn archive");
}

//! What a run carried, the next one goes on with; and only that.
use crate::runs::{self, binary, document, edit};
use crate::{derived, reader::run::path};
use receipt::finding::Code;
use receipt::manifest::source::Memory;
use receipt::pipeline::{Verified, VerifyOptions};
use receipt::receipt::Sealed;
use serde_json::{Value, json};

fn carried() -> Sealed {
    runs::verify_value(&document("worked/tail-carry.json")).sealed
}

fn verify(manifest: &Value, previous: Option<Sealed>) -> Verified {
    let sources = Memory::new().with("m", manifest.to_string());
    runs::verify_with(&sources, &[path("m")], &VerifyOptions { previous, ..VerifyOptions::default() })
}

#[test]
fn a_carried_window_counts_where_it_is_stepped() {
    let verified = verify(&derived::resumed(), Some(carried()));
    assert_eq!((runs::exit(&verified), runs::codes(&verified)), (0, vec![]));
    let tree = runs::tree(&verified);
    assert_eq!(tree["windows"][0]["valid_targets"], json!(20));
    assert_eq!(tree["windows"][0]["loss"], json!(0.9));
    assert_eq!(tree["totals"]["microbatches"], json!(3), "the one carried in is counted");
    assert_eq!(tree["options"]["previous"], json!(carried().receipt().receipt_sha256));
    // The two runs together count every microbatch once.
    let before = carried();
    let targets = |receipt: &Sealed| receipt.receipt().totals.as_ref().expect("totals").valid_targets.get();
    assert_eq!(targets(&before) + targets(&verified.sealed), 21 + 20);
}

#[test]
fn a_resume_that_was_altered_is_found() {
    let manifest = derived::resumed();
    for pointer in edit::leaves(&manifest["resume"]) {
        let pointer = format!("/resume{pointer}");
        let leaf = manifest.pointer(&pointer).expect("a leaf");
        let value = match leaf {
            Value::String(text) if text.len() == 64 => json!("0".repeat(64)),
            Value::String(text) => json!(format!("{text}x")),
            Value::Number(number) if number.is_u64() => json!(number.as_u64().expect("a count") + 1),
            number => json!(number.as_f64().expect("a real") + 1.0),
        };
        let verified = verify(&edit::with(&manifest, &pointer, value), Some(carried()));
        let codes = runs::errors(&verified);
        let is_malformed = codes.iter().any(|code| code.rejects());
        assert!(is_malformed || codes.contains(&Code::GA602), "{pointer}: {codes:?}");
    }
}

#[test]
fn a_resume_without_a_carried_window_or_the_other_way_round() {
    let nothing = runs::verify_value(&document("worked/tail-flush.json")).sealed;
    assert!(runs::errors(&verify(&derived::resumed(), Some(nothing))).contains(&Code::GA602));
    let fresh = document("worked/three-six-one.json");
    assert_eq!(runs::errors(&verify(&fresh, Some(carried()))), [Code::GA602]);
    // Not asked, it is not judged.
    assert_eq!(runs::errors(&verify(&derived::resumed(), None)), []);
}

#[test]
fn through_the_binary() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let first = runs::fixture("worked/tail-carry.json");
    let previous = file("previous.json");
    // As in memory: the receipt of a run that was replayed has another hash.
    let no_replay = "--no-replay".as_ref();
    let run =
        binary::run(["verify".as_ref(), first.as_os_str(), no_replay, "--receipt".as_ref(), previous.as_os_str()]);
    assert_eq!(run.code, 0);
    let (manifest, receipt) = (file("manifest.json"), file("receipt.json"));
    std::fs::write(&manifest, derived::resumed().to_string()).expect("written");
    let arguments = ["--previous".as_ref(), previous.as_os_str()];
    let verify = ["verify".as_ref(), manifest.as_os_str(), "--receipt".as_ref(), receipt.as_os_str()];
    let ran = binary::run(verify.iter().chain(&arguments));
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let check = ["check".as_ref(), receipt.as_os_str(), manifest.as_os_str()];
    assert_eq!(binary::run(check.iter().chain(&arguments)).code, 0);
    assert_eq!(binary::run(check).code, 2, "the receipt was derived with another one, which is not named");
    let altered = edit::with(&derived::resumed(), "/resume/ranks/0/microbatches/0/loss_sum", json!(9.2));
    std::fs::write(&manifest, altered.to_string()).expect("written");
    let ran = binary::run(verify[..2].iter().chain(&arguments));
    assert_eq!((ran.code, ran.shown().contains("GA602")), (1, true), "{}", ran.shown());
}

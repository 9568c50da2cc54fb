//! A window that one run carries and the next resumes (GA602): the receipt of the first is given to the second.
use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules/GA602-resume-mismatch").join(name)
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON")
}

/// Verifies a manifest; gives the exit code and the codes found.
fn verify(manifest: &Path, previous: Option<&Path>, receipt: &Path) -> (i32, Vec<String>) {
    let mut command = cargo_bin_cmd!("receipt");
    command.arg("verify").arg("--receipt").arg(receipt).arg(manifest);
    if let Some(previous) = previous {
        command.arg("--previous").arg(previous);
    }
    let exit = command.output().expect("receipt runs").status.code().expect("an exit code");
    let findings = read(receipt)["findings"].as_array().cloned().unwrap_or_default();
    (exit, findings.iter().map(|finding| finding["code"].as_str().unwrap_or_default().to_owned()).collect())
}

#[test]
fn what_a_receipt_carried_is_what_the_next_run_resumes() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let previous = at("previous-receipt.json");
    assert_eq!(verify(&fixture("previous.json"), None, &previous), (0, vec![]));
    let carried = read(&previous);
    // The hash of a receipt changes with the version of the tool, so the fixtures can't hold it.
    for (name, exit, codes) in [("good.json", 0, vec![]), ("bad.json", 1, vec!["GA602".to_owned()])] {
        let mut manifest = read(&fixture(name));
        manifest["resume"]["previous_receipt"] = carried["receipt_sha256"].clone();
        let path = at(name);
        fs::write(&path, manifest.to_string()).expect("a manifest");
        assert_eq!(verify(&path, Some(&previous), &at("receipt.json")), (exit, codes), "{name}");
        assert_eq!(verify(&path, None, &at("receipt.json")), (0, vec![]), "{name} without the receipt before");
    }
    let mut resume = carried["carried"].clone();
    resume["previous_receipt"] = carried["receipt_sha256"].clone();
    let mut manifest = read(&fixture("good.json"));
    manifest["resume"]["previous_receipt"] = carried["receipt_sha256"].clone();
    assert_eq!(manifest["resume"], resume, "`resume` is `carried` and the hash");
}

#[test]
fn another_receipt_is_not_the_one_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let previous = folder.path().join("previous-receipt.json");
    verify(&fixture("previous.json"), None, &previous);
    let (exit, codes) = verify(&fixture("good.json"), Some(&previous), &folder.path().join("receipt.json"));
    assert_eq!((exit, codes), (1, vec!["GA602".to_owned()]));
}

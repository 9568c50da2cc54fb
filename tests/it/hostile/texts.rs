//! Texts that are refused: where the fault is stands in what is shown, which is short and can't move a cursor.
use crate::runs::binary::{self, Ran};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const HEADER: &str = concat!(
    r#"{"schema":"accumulation/microbatch-manifest/1","rank":0,"contract":{"formula":"token-mean/1","#,
    r#""accumulation_steps":1,"world_size":1,"tail":"flush","tolerance":{"absolute":0,"relative":0},"#,
    r#""precision":"float64"}}"#
);
const STEP: &str = r#"{"optimizer_step":{"window":0,"outcome":"applied"}}"#;

/// The longest that is shown of any of these.
const LONGEST: usize = 4_000;

fn backward(fields: &str) -> String {
    format!(r#"{{"backward":{{"window":0,"microbatch":"a",{fields}}}}}"#)
}

fn lines(events: &[&str]) -> String {
    let lines: Vec<&str> = std::iter::once(HEADER).chain(events.iter().copied()).collect();
    lines.join("\n") + "\n"
}

/// Writes the text and verifies it, with all output that a verified run would have.
fn refused(bytes: &[u8]) -> (Ran, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = folder.path().join("m.jsonl");
    fs::write(&manifest, bytes).expect("written");
    let ran = binary::verify(&manifest);
    assert_eq!(ran.code, 3, "{}", ran.shown());
    assert_eq!(names(folder.path()), ["m.jsonl"], "nothing is written that was not asked for");
    harmless(&ran);
    (ran, folder)
}

pub(super) fn harmless(ran: &Ran) {
    let shown = ran.shown();
    assert!(shown.len() < LONGEST, "{} bytes are shown", shown.len());
    let raw = shown.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(raw, None, "a control character is shown: {shown:?}");
    assert!(!shown.lines().any(|line| line.starts_with("::")), "a workflow command is shown: {shown}");
}

pub(super) fn names(folder: &Path) -> Vec<String> {
    let paths: Vec<PathBuf> = crate::fixtures::entries(folder);
    paths.iter().map(|path| path.file_name().expect("a name").to_string_lossy().into_owned()).collect()
}

/// A text is refused with this code at this line and column.
fn is_refused(bytes: impl AsRef<[u8]>, code: &str, line: usize, column: usize) {
    let (ran, _folder) = refused(bytes.as_ref());
    let shown = ran.shown();
    assert!(shown.contains(code), "{code} is not shown:\n{shown}");
    let place = format!("m.jsonl:{line}:{column}");
    assert!(shown.contains(&place), "{place} is not shown:\n{shown}");
}

#[test]
fn texts_that_are_no_json() {
    is_refused("", "GA101", 1, 1);
    is_refused(format!("\u{feff}{}", lines(&[])), "GA101", 1, 1);
    is_refused(lines(&[&backward(r#""valid_targets":3,"loss_sum":1"#)[..40]]).trim_end(), "GA101", 2, 41);
    is_refused(lines(&["\"zero_grad\""]).replace("zero", "ze\u{0}ro"), "GA101", 2, 4);
    is_refused([lines(&[]).as_bytes(), b"\"zero\xff\"\n"].concat(), "GA101", 2, 6);
}

#[test]
fn numbers() {
    let loss = |number: &str| lines(&[&backward(&format!(r#""valid_targets":3,"loss_sum":{number}"#)), STEP]);
    is_refused(loss("NaN"), "GA106", 2, 71);
    is_refused(loss("1e999"), "GA106", 2, 71);
    let count = |number: &str| lines(&[&backward(&format!(r#""valid_targets":{number},"loss_sum":1"#)), STEP]);
    is_refused(count("9007199254740993"), "GA105", 2, 58);
    is_refused(count("1.0"), "GA105", 2, 58);
}

/// What is wrong beside it has a place, which names the rank.
#[test]
fn a_rank_that_no_receipt_can_hold() {
    let rank = r#""rank":90071992547409930"#;
    let lines = lines(&[r#"{"backw"#]).replace(r#""rank":0"#, rank);
    is_refused(&lines, "GA105", 1, 55);
    let contract = &HEADER[HEADER.find(r#""contract""#).expect("a contract")..HEADER.len() - 1];
    let document = format!(
        r#"{{"schema":"accumulation/rank-manifest/1",{contract},"ranks":[{{{rank},"events":["zero_grad",{{"backw":0}}]}}]}}"#
    );
    let column = document.find("9007").expect("the rank") + 1;
    is_refused(document, "GA105", 1, column);
}

#[test]
fn keys_and_versions() {
    is_refused(lines(&[&backward(r#""valid_targets":3,"loss_sum":1,"loss_sum":1"#)]), "GA104", 2, 73);
    is_refused(lines(&[]).replace("manifest/1", "manifest/2"), "GA102", 1, 11);
    is_refused(lines(&[]).replace("token-mean/1", "token-mean/9"), "GA102", 1, 79);
}

/// What one gets wrong first is told in one sentence, not by what each field lacks.
#[test]
fn the_first_line() {
    let said = |text: &str, expected: &str| {
        let (ran, _folder) = refused(text.as_bytes());
        assert!(ran.shown().contains(expected), "{}", ran.shown());
        assert_eq!(ran.shown().matches("error[").count(), expected.matches("error[").count(), "{}", ran.shown());
    };
    let event = backward(r#""valid_targets":3,"loss_sum":1"#);
    said(
        &format!("{event}\n{STEP}\n"),
        "error[GA103] unexpected-shape: an event, where the first line of a microbatch manifest is its header",
    );
    said(
        &lines(&[&event, STEP, HEADER]),
        "error[GA103] unexpected-shape: a header, which stands on the first line of a file and on no other",
    );
    said(
        &lines(&[r#"{"step":{"window":0}}"#]),
        "error[GA103] unexpected-shape: unknown tag `step`, where one of `backward`, `rescale`, ",
    );
    said(
        r#"{"schema":"accumulation/receipt/1","contract":null,"ranks":[]}"#,
        "error[GA102] unsupported-schema: `accumulation/receipt/1`, where only",
    );
}

#[test]
fn a_run_that_lacks_something() {
    let one = backward(r#""valid_targets":3,"loss_sum":1"#);
    let next = one.replace("\"window\":0", "\"window\":2").replace("\"a\"", "\"b\"");
    is_refused(lines(&[&one, STEP, "\"zero_grad\"", &next]), "GA111", 5, 23);
    is_refused(lines(&[&backward(r#""valid_targets":0,"loss_sum":0"#), STEP]), "GA113", 3, 1);
    let twice = one.replace("\"window\":0", "\"window\":1");
    is_refused(lines(&[&one, STEP, "\"zero_grad\"", &twice]), "GA108", 5, 38);
    let (ran, _folder) = refused(
        lines(&[&one, STEP]).replace("\"world_size\":1", "\"world_size\":2,\"gradient_reduction\":\"sum\"").as_bytes(),
    );
    assert!(ran.shown().contains("GA110") && ran.shown().contains("rank 1 of 2 is missing"), "{}", ran.shown());
}

#[test]
fn identifiers_that_attack_whoever_reads_them() {
    for (id, shown) in [
        ("\\u001b[31mred", "\\u{1b}[31mred"),
        ("<script>", "<script>"),
        ("::error::x", "::error"),
        ("\\u202etxt", "\\u{202e}txt"),
    ] {
        let event = backward(r#""valid_targets":3,"loss_sum":1"#).replace("\"a\"", &format!("\"{id}\""));
        let (ran, _folder) = refused(lines(&[&event, STEP]).as_bytes());
        let said = ran.shown();
        assert!(said.contains("GA107") && said.contains("m.jsonl:2:38") && said.contains(shown), "{id}: {said}");
        let markdown = ["explain", "--format", "markdown"];
        let path = _folder.path().join("m.jsonl");
        let ran = binary::run(markdown.iter().map(AsRef::as_ref).chain([path.as_os_str()]));
        assert!(!ran.shown().contains("<script>") && !ran.shown().contains('\u{1b}'), "{}", ran.shown());
    }
}

#[test]
fn keys_and_values_that_attack_whoever_reads_them() {
    for event in [
        "{\"rescale\":{\"\\u001b]0;x\\u0007\":1}}",
        "{\"\\u001b[2J\":1}",
        "\"\\u001b[2J\"",
        "{\"rescale\":{\"factor\":\"\\u009b31m\"}}",
    ] {
        refused(lines(&[event]).as_bytes());
    }
    // Raw, as bytes of the text.
    refused(lines(&["\"zero\u{1b}[31mgrad\""]).as_bytes());
    refused(lines(&["\"zero\u{9b}31mgrad\u{202e}\""]).as_bytes());
}

#[test]
fn a_fault_in_ten_megabytes_on_one_line() {
    let filler = "1.00000000,".repeat(450_000);
    let before = r#""valid_targets":3,"loss_sum":1,"gradient_sum":["#;
    let event = backward(&format!("{before}{filler}NaN,{filler}1]"));
    assert!(event.len() > 9_900_000);
    let column = event.find("NaN").expect("the fault") + 1;
    is_refused(lines(&[&event, STEP]), "GA106", 2, column);
    // The same inside a rank manifest, all of which is one line.
    let contract = HEADER.split_once("\"contract\":").expect("a contract").1;
    let document = format!(
        r#"{{"schema":"accumulation/rank-manifest/1","ranks":[{{"rank":0,"events":[{event}]}}],"contract":{contract}"#
    );
    let column = document.find("NaN").expect("the fault") + 1;
    is_refused(document, "GA106", 1, column);
}

#[test]
fn depth_bombs() {
    for depth in [65, 1_000_000] {
        let (arrays, objects) = ("[".repeat(depth), "{\"a\":".repeat(depth));
        for text in [arrays.clone(), objects.clone(), lines(&[&arrays]), lines(&[&objects])] {
            let (ran, _folder) = refused(text.as_bytes());
            assert!(ran.shown().contains("GA115") || ran.shown().contains("GA101"), "{depth}: {}", ran.shown());
        }
        let closed = format!("{arrays}{}", "]".repeat(depth));
        let (ran, _folder) = refused(lines(&[&format!("{{\"rescale\":{closed}}}")]).as_bytes());
        assert!(ran.shown().contains("GA115"), "{depth}: {}", ran.shown());
        let document = format!(r#"{{"schema":"accumulation/rank-manifest/1","contract":{closed},"ranks":[]}}"#);
        let (ran, _folder) = refused(document.as_bytes());
        assert!(ran.shown().contains("GA115"), "{depth}: {}", ran.shown());
    }
}

#[test]
fn ten_thousand_faults_are_told_shortly() {
    let bad = backward(r#""valid_targets":-1,"loss_sum":1"#);
    let (ran, _folder) = refused(lines(&vec![bad.as_str(); 10_000]).as_bytes());
    assert!(ran.shown().contains("GA105") && ran.shown().contains("10"), "{}", ran.shown());
}

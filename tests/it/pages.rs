//! The HTML report through the binary: pictures of what only the manifest holds, and what a receipt alone gives.
use crate::runs::{self, binary};
use std::path::Path;

fn page(path: &Path) -> String {
    let ran = binary::run(["explain".as_ref(), "--format".as_ref(), "html".as_ref(), path.as_os_str()]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    ran.out
}

/// The description of a picture; empty where it is not there.
fn description<'a>(page: &'a str, id: &str) -> &'a str {
    let start = format!("<desc id=\"{id}-description\">");
    page.split_once(&start).and_then(|(_, rest)| rest.split_once("</desc>")).map_or("", |(text, _)| text)
}

#[test]
fn the_clock_marks_the_fault_at_its_event() {
    let page = page(&runs::fixture("recorded/plain_zero_mid_f32.jsonl"));
    assert_eq!(
        description(&page, "clock"),
        "Window 0: rank 0: backward, backward, zero_grad (GA303), backward, backward, clip, optimizer_step (GA701), \
         scheduler_step, zero_grad."
    );
    let ranks = self::page(&runs::fixture("recorded/ddp_never_sync_f32/rank-manifest.json"));
    let clock = description(&ranks, "clock");
    assert!(clock.starts_with("Window 0: rank 0: backward, backward, backward, backward (GA401), clip"), "{clock}");
    assert!(clock.contains("; rank 1: backward, backward, backward, backward (GA401), clip (GA405)"), "{clock}");
}

#[test]
fn the_loss_scale_and_the_replay_are_drawn() {
    let page = page(&runs::fixture("recorded/plain_amp_f16_natural_mixed.jsonl"));
    let scale = description(&page, "scale");
    assert_eq!(scale, "The loss scale moves between 65536 and 262144; 2 skipped updates.");
    let replay = description(&page, "replay");
    assert!(
        replay.starts_with("this run in window 1: gradient ")
            && replay.contains("; mean-of-means in window 3: gradient 0."),
        "{replay}"
    );
}

#[test]
fn a_receipt_alone_has_no_events() {
    let folder = tempfile::tempdir().expect("a folder");
    let receipt = folder.path().join("receipt.json");
    let manifest = runs::fixture("recorded/plain_amp_f16_natural_mixed.jsonl");
    binary::run([
        "verify".as_ref(),
        "--receipt".as_ref(),
        receipt.as_os_str(),
        "--no-replay".as_ref(),
        manifest.as_os_str(),
    ]);
    let page = page(&receipt);
    let known = ["scale", "clock", "replay", "drift", "shares"].map(|id| !description(&page, id).is_empty());
    assert_eq!(known, [false, false, false, true, true], "{page}");
}

//! Whole pages: what must be in them and what must not.
use super::*;
use crate::finding::CODES;
use crate::finding::Code;
use crate::finding::Place;
use crate::manifest::identifier::Opaque;
use crate::report::testing;
use crate::report::timeline::Lane;
use crate::report::timeline::Mark;
use crate::report::timeline::ScaleAt;
use crate::report::timeline::WindowLanes;
use crate::rules;
use std::collections::BTreeSet;

/// What a browser would run or fetch, or what would hide other text.
const HOSTILE: &str = "<img src=x onerror=alert(1)>]]></svg><script>\u{1b}[2J\u{202e}\"'&";

fn mark(tag: &'static str, faults: &[Code]) -> Mark {
    Mark { tag, synced: None, is_skipped: false, faults: faults.to_vec() }
}

fn timeline() -> Timeline {
    let marks = vec![mark("backward", &[]), mark("zero_grad", &[Code::GA303]), mark("backward", &[])];
    let lane = Lane { rank: 0, marks, more_marks: 0, faults: vec![Code::GA301] };
    let scale = |window, scale, is_skipped| ScaleAt { window, scale: Some(scale), is_skipped };
    Timeline {
        lanes: vec![WindowLanes { window: 3, ranks: vec![lane], more_ranks: 2, faults: vec![Code::GA601] }],
        scales: vec![scale(0, 65536.0, true), scale(1, 32768.0, false), scale(2, 32768.0, false)],
    }
}

fn page(receipt: &Receipt, window: Option<u64>) -> String {
    report(&Shown::new(receipt, "run.jsonl"), window, Some(&timeline())).expect("a page")
}

/// The values of an attribute, in order.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    page.split(&format!(" {attribute}=\"")).skip(1).map(|rest| rest.split('"').next().unwrap_or_default()).collect()
}

#[test]
fn the_first_lines_and_every_picture_are_there() {
    let page = page(&testing::violated(&[&testing::MEAN_OF_MEANS, &testing::RIGHT]), None);
    let start = page.find("<strong>What is wrong: </strong>Each microbatch's loss").expect("the headline");
    assert!(start < page.find("<h2").expect("a heading"));
    let pictures: Vec<&str> = values(&page, "aria-labelledby").into_iter().filter(|ids| ids.contains(' ')).collect();
    let expected = ["scale", "drift", "shares", "clock"].map(|id| format!("{id}-title {id}-description"));
    assert_eq!(pictures, expected);
    assert!(page.contains("The loss scale moves between 32768 and 65536; 1 skipped update."), "{page}");
    assert!(page.contains("1 of 2 windows drift beyond the tolerance. The largest drift is 2.33333, in window 0."));
    assert!(page.contains("rank 0 #2 · n 1: 3.33333 times, by a mean of means 3.33333."), "{page}");
    assert!(page.contains("Window 3: rank 0: backward, zero_grad (GA303), backward; GA301 at no event."), "{page}");
}

#[test]
fn advice_that_may_be_taken_is_called_so() {
    let mut receipt = testing::receipt(&[&testing::RIGHT]);
    receipt.findings = vec![testing::finding(Code::GA309, Place::window(0), "twice")];
    assert!(page(&receipt, None).contains("<strong>What you may change: </strong>Keep one <code>zero_grad()</code>."));
}

#[test]
fn bars_are_as_long_as_their_shares() {
    let page = page(&testing::violated(&[&testing::MEAN_OF_MEANS]), None);
    let bars: Vec<f64> = page
        .split("<rect class=\"bar off\"")
        .skip(1)
        .map(|bar| values(bar, "width")[0].parse().expect("a number"))
        .collect();
    let [three, six, one] = bars[..] else { panic!("three bars, not {bars:?}") };
    assert!((six / three - 0.5).abs() < 0.01 && (one / three - 3.0).abs() < 0.01, "{bars:?}");
}

#[test]
fn a_window_beyond_tolerance_stands_above_the_line() {
    let page = page(&testing::violated(&[&testing::MEAN_OF_MEANS, &testing::RIGHT]), None);
    let limit = page.split("<polyline class=\"limit\" points=\"").nth(1).expect("a line");
    let limit: f64 = limit.split([',', ' ']).nth(1).expect("a height").parse().expect("a number");
    let marks = page.split("<g class=\"marks first\">").nth(1).expect("marks").split("</g>").next().expect("an end");
    let heights: Vec<f64> = values(marks, "transform")
        .iter()
        .map(|at| at.trim_end_matches(')').rsplit(' ').next().expect("a height").parse().expect("a number"))
        .collect();
    let [wrong, right] = heights[..] else { panic!("two marks, not {heights:?}") };
    assert!(wrong < limit && limit < right, "{wrong}, line {limit}, {right}");
}

#[test]
fn a_page_is_accessible_and_loads_nothing() {
    for window in [None, Some(0)] {
        let page = page(&testing::violated(&[&testing::MEAN_OF_MEANS]), window);
        assert!(!page.contains('█') && page.contains("id=\"shares\""), "a picture stands there twice: {page}");
        let ids = values(&page, "id");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "an id stands twice: {ids:?}");
        let labels = values(&page, "aria-labelledby");
        assert!(labels.iter().flat_map(|label| label.split(' ')).all(|label| ids.contains(&label)), "{labels:?}");
        assert_eq!(page.matches("<svg role=\"img\" aria-labelledby").count(), page.matches("<svg").count());
        assert_eq!(page.matches("<th ").count(), page.matches("<th scope=\"").count());
        assert!(page.matches("<th ").count() > 5 && page.matches("<h1").count() == 1, "{page}");
        for loading in ["<script", "<link", "<img", "<iframe", " src=", " href=", "url(", "@import", "http"] {
            let policy = "http-equiv=\"Content-Security-Policy\"";
            assert!(!page.replace(policy, "").contains(loading), "{loading} in {page}");
        }
        assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\""), "{page}");
    }
}

#[test]
fn hostile_text_is_text() {
    let mut receipt = testing::violated(&[&testing::MEAN_OF_MEANS]);
    (receipt.tool.name, receipt.tool.version) = (HOSTILE.to_owned(), HOSTILE.to_owned());
    receipt.findings[0].message = HOSTILE.to_owned();
    receipt.findings[0].place = Place::event(0, 3).in_window(0).at(HOSTILE);
    receipt.limitations = vec![HOSTILE.to_owned()];
    let diagnosis = receipt.diagnosis.as_mut().expect("a diagnosis");
    diagnosis.text = HOSTILE.to_owned();
    let contract = receipt.contract.as_mut().expect("a contract");
    contract.software.insert(Opaque::new(HOSTILE).expect("short"), Opaque::new(HOSTILE).expect("short"));
    let page = report(&Shown::new(&receipt, HOSTILE), None, Some(&timeline())).expect("a page");
    let escaped = "&lt;img src=x onerror=alert(1)&gt;]]&gt;&lt;/svg&gt;&lt;script&gt;\\u{1b}[2J\\u{202e}&quot;'&amp;";
    // Title, heading, message, place, limitation, diagnosis, name and version of a program and of the tool, and the
    // command to type.
    assert_eq!(page.matches(escaped).count(), 11, "{page}");
    assert!(!page.contains("<img") && !page.contains("<script") && !page.contains("]]>"), "{page}");
    assert!(page.chars().all(|c| c == '\n' || !c.is_control()) && !page.contains('\u{202e}'), "{page}");
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
}

#[test]
fn what_is_not_known_is_not_drawn() {
    let receipt = testing::rejected(vec![testing::finding(Code::GA103, Place::document("/contract"), "unknown field")]);
    let shown = Shown::new(&receipt, "run.jsonl");
    let page = report(&shown, None, Some(&Timeline::default())).expect("a page");
    assert!(!page.contains("<svg") && page.contains("class=\"verdict error\""), "{page}");
    let receipt = testing::receipt(&[&testing::RIGHT]);
    let page = report(&Shown::new(&receipt, "receipt.json"), None, None).expect("a page");
    assert!(
        page.contains("id=\"shares\"") && !page.contains("id=\"clock\"") && !page.contains("id=\"scale\""),
        "{page}"
    );
    assert!(report(&shown, Some(7), None).is_err());
}

#[test]
fn a_page_does_not_grow_with_its_run() {
    let windows = |count: usize| {
        let mut made: Vec<&[testing::Made]> = vec![&testing::MEAN_OF_MEANS; count];
        made[count / 2] = &testing::RIGHT;
        made
    };
    let size = |count: usize| {
        let receipt = testing::violated(&windows(count));
        let marks = vec![mark("backward", &[]); 100_000];
        let lane = |rank| Lane { rank, marks: marks.clone(), more_marks: 0, faults: vec![] };
        let timeline = Timeline {
            lanes: vec![WindowLanes { window: 0, ranks: (0..8).map(lane).collect(), more_ranks: 0, faults: vec![] }],
            scales: (0..count as u64).map(|window| ScaleAt { window, scale: Some(1024.0), is_skipped: true }).collect(),
        };
        report(&Shown::new(&receipt, "run.jsonl"), None, Some(&timeline)).expect("a page").len()
    };
    let (small, large) = (size(1000), size(100_000));
    assert!(large < 2 << 20, "{large} bytes");
    assert!(large < small + small / 4, "{small} bytes for 1000 windows, {large} for 100 000");
}

#[test]
fn every_rule_has_a_page() {
    for &code in CODES {
        let page = super::page(&Page::of_rule(rules::find(code)));
        assert!(page.contains(&format!("<h1>{code} {}</h1>", code.name())), "{page}");
        assert_eq!(page.matches("<h2").count(), 4, "{page}");
    }
}

//! The clock of some windows: a lane for each rank, its events in order, the faults marked.
use super::Figure;
use super::WIDTH;
use super::at;
use crate::finding::Code;
use crate::report::timeline::Lane;
use crate::report::timeline::Mark;
use crate::report::timeline::Timeline;
use crate::report::timeline::WindowLanes;
use crate::report::words;
use maud::Markup;
use maud::html;
use std::collections::BTreeSet;

/// Where boxes begin, their width with the gap, and the height of a row of them with the room for faults.
const START: f64 = 84.0;
const PITCH: f64 = 36.0;
const BOX: (f64, f64) = (28.0, 24.0);
const ROW: f64 = 46.0;

/// Height of a window's heading and of the legend.
const HEADING: f64 = 30.0;
const LEGEND: f64 = 20.0;

/// Rows of a lane; the rest is counted.
const ROWS: usize = 3;

/// Backwards in a row that are drawn one by one.
const SINGLE: usize = 4;

/// How each event is drawn: its tag, letter and what the legend says.
const LETTERS: [(&str, &str, &str); 16] = [
    ("backward", "B", "backward"),
    ("rescale", "R", "rescale"),
    ("unscale", "U", "unscale"),
    ("clip", "C", "clip"),
    ("optimizer_step", "S", "optimizer step"),
    ("scaler_update", "L", "loss scaler update"),
    ("scheduler_step", "T", "scheduler tick"),
    ("zero_grad", "Z", "zero_grad"),
    ("epoch_end", "E", "epoch end"),
    ("carry", "K", "carry"),
    ("drop", "D", "drop"),
    ("restore", "↺", "restore"),
    ("logged", "lg", "logged"),
    ("parameters", "pa", "parameters"),
    ("checkpoint", "ck", "checkpoint"),
    ("evaluation", "ev", "evaluation"),
];

/// A box: an event, or several backwards alike.
struct Shape<'a> {
    mark: &'a Mark,
    times: usize,
}

/// The picture; absent where no events are at hand.
pub fn figure(timeline: &Timeline) -> Option<Figure> {
    let windows: Vec<&WindowLanes> =
        timeline.lanes.iter().filter(|window| window.ranks.iter().any(|lane| !lane.marks.is_empty())).collect();
    if windows.is_empty() {
        return None;
    }
    let mut y = 4.0;
    let mut drawings = Vec::new();
    for window in &windows {
        let (drawing, end) = self::window(window, y);
        drawings.push(drawing);
        y = end;
    }
    let legend = legend(&windows);
    let height = y + LEGEND * legend.len() as f64 + 8.0;
    let drawing = html! {
        @for drawing in drawings { (drawing) }
        @for (index, line) in legend.iter().enumerate() {
            text.legend x="8" y=(at(y + LEGEND * (index as f64 + 0.7))) { (line) }
        }
    };
    Some(Figure {
        id: "clock".to_owned(),
        title: "The clock, event by event".to_owned(),
        description: windows.iter().map(|window| described(window)).collect::<Vec<_>>().join(" "),
        caption:
            "A lane for each rank, its events from left to right in the order in which they were recorded; distances \
                  mean nothing. An event with a thick border has the fault that stands below it."
                .to_owned(),
        height,
        drawing,
    })
}

/// A window's heading and lanes from this height on, and where they end.
fn window(window: &WindowLanes, start: f64) -> (Markup, f64) {
    let mut y = start + HEADING;
    let mut lanes = Vec::new();
    for lane in &window.ranks {
        let (drawing, end) = self::lane(lane, y);
        lanes.push(drawing);
        y = end;
    }
    let more = match window.more_ranks {
        0 => String::new(),
        more => format!(" · {} not shown", words::count(more as u64, "more rank")),
    };
    let drawing = html! {
        text.heading x="8" y=(at(start + 20.0)) {
            "window " (window.window) (more)
            @if !window.faults.is_empty() { tspan.fault { " · " (codes(&window.faults)) } }
        }
        @for lane in lanes { (lane) }
    };
    (drawing, y)
}

fn lane(lane: &Lane, start: f64) -> (Markup, f64) {
    let columns = ((WIDTH - START - 8.0) / PITCH) as usize;
    let shapes = shapes(&lane.marks);
    let shown = shapes.len().min(columns * ROWS);
    let hidden: usize = shapes[shown..].iter().map(|shape| shape.times).sum::<usize>() + lane.more_marks;
    let rows = shown.div_ceil(columns).max(1);
    let mut notes = Vec::new();
    if hidden > 0 {
        notes.push(format!("{} not shown", words::count(hidden as u64, "more event")));
    }
    let end = start + ROW * rows as f64;
    let has_notes = !notes.is_empty() || !lane.faults.is_empty();
    let drawing = html! {
        text.label x=(at(START - 12.0)) y=(at(start + 16.0)) text-anchor="end" { "rank " (lane.rank) }
        @for row in 0..rows {
            @let y = start + ROW * row as f64 + BOX.1 / 2.0;
            line.grid x1=(at(START)) x2=(at(WIDTH - 8.0)) y1=(at(y)) y2=(at(y)) {}
        }
        @for (index, shape) in shapes.iter().take(shown).enumerate() {
            (self::shape(shape, START + PITCH * (index % columns) as f64, start + ROW * (index / columns) as f64))
        }
        @if has_notes {
            text.note x=(at(START)) y=(at(end + 8.0)) {
                (notes.join("; "))
                @if !lane.faults.is_empty() { tspan.fault { " not at an event: " (codes(&lane.faults)) } }
            }
        }
    };
    (drawing, end + if has_notes { 20.0 } else { 0.0 })
}

/// An event's box. What it is stands in its title too.
fn shape(shape: &Shape<'_>, x: f64, y: f64) -> Markup {
    let Shape { mark, times } = *shape;
    let letter = LETTERS.iter().find(|(tag, ..)| *tag == mark.tag).map_or("?", |(_, letter, _)| letter);
    let is_open = mark.tag == "backward" && mark.synced == Some(false);
    let title = format!(
        "{}{}{}{}",
        mark.tag,
        if times > 1 { format!(" × {times}") } else { String::new() },
        if is_open { ", without all-reduce" } else { "" },
        if mark.is_skipped { ", skipped or not finite" } else { "" },
    );
    html! {
        g {
            title { (title) @if !mark.faults.is_empty() { ": " (codes(&mark.faults)) } }
            rect.event.open[is_open].skipped[mark.is_skipped].fault[!mark.faults.is_empty()]
                x=(at(x)) y=(at(y)) width=(at(BOX.0)) height=(at(BOX.1)) rx="4" {}
            text.letter.on-open[is_open || mark.is_skipped] x=(at(x + BOX.0 / 2.0)) y=(at(y + 16.5)) text-anchor="middle" {
                (letter) @if times > 1 { tspan.times { "×" (times) } }
            }
            @if let Some(first) = mark.faults.first() {
                text.code x=(at(x + BOX.0 / 2.0)) y=(at(y + BOX.1 + 11.0)) text-anchor="middle" {
                    (first) @if mark.faults.len() > 1 { "+" }
                }
            }
        }
    }
}

/// The events as boxes: backwards alike and without a fault, of which there are many in a row, become one.
fn shapes(marks: &[Mark]) -> Vec<Shape<'_>> {
    let is_plain = |mark: &Mark| mark.tag == "backward" && mark.faults.is_empty();
    let mut shapes = Vec::new();
    let mut rest = marks;
    while let Some(first) = rest.first() {
        let alike = rest.iter().take_while(|mark| is_plain(mark) && *mark == first).count();
        if alike > SINGLE {
            shapes.push(Shape { mark: first, times: alike });
            rest = &rest[alike..];
        } else {
            shapes.push(Shape { mark: first, times: 1 });
            rest = &rest[1..];
        }
    }
    shapes
}

fn codes(codes: &[Code]) -> String {
    codes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What the letters mean that are used, in lines.
fn legend(windows: &[&WindowLanes]) -> Vec<String> {
    let marks = || windows.iter().flat_map(|window| &window.ranks).flat_map(|lane| &lane.marks);
    let tags: BTreeSet<&str> = marks().map(|mark| mark.tag).collect();
    let mut words: Vec<String> = LETTERS
        .iter()
        .filter(|(tag, ..)| tags.contains(tag))
        .map(|(_, letter, name)| format!("{letter} {name}"))
        .collect();
    if marks().any(|mark| mark.synced == Some(false)) {
        words.push("hollow B: without all-reduce".to_owned());
    }
    if marks().any(|mark| mark.is_skipped) {
        words.push("dashed: skipped or not finite".to_owned());
    }
    let mut lines = vec![String::new()];
    for word in words {
        let line = lines.last_mut().expect("bug: no line");
        match line.chars().count() {
            0 => *line = word,
            length if length + word.chars().count() < 105 => *line = format!("{line} · {word}"),
            _ => lines.push(word),
        }
    }
    lines
}

fn described(window: &WindowLanes) -> String {
    let lane = |lane: &Lane| {
        let event = |shape: &Shape<'_>| {
            let times = if shape.times > 1 { format!(" × {}", shape.times) } else { String::new() };
            let faults = codes(&shape.mark.faults);
            let faults = if faults.is_empty() { faults } else { format!(" ({faults})") };
            format!("{}{times}{faults}", shape.mark.tag)
        };
        let shapes = shapes(&lane.marks);
        let events: Vec<String> = shapes.iter().take(32).map(event).collect();
        let more = if shapes.len() > 32 { ", and more" } else { "" };
        let faults = codes(&lane.faults);
        let faults = if faults.is_empty() { faults } else { format!("; {faults} at no event") };
        format!("rank {}: {}{more}{faults}", lane.rank, events.join(", "))
    };
    format!("Window {}: {}.", window.window, window.ranks.iter().map(lane).collect::<Vec<_>>().join("; "))
}

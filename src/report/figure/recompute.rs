//! What recomputation costs against what it keeps, for uniform blocks and for binomial snapshots.
//!
//! Invariant: each mark is a row of the tables of `receipt schedule`.
use super::Figure;
use super::at;
use super::plot::Plot;
use super::plot::log10;
use crate::manifest::replay::Recompute;
use crate::replay::ReplayReport;
use crate::report::schedule::LONGEST;
use crate::report::schedule::Schedule;
use crate::report::words;
use maud::Markup;
use maud::html;

/// Height of the picture, and room above the area for the legend.
const HEIGHT: f64 = 340.0;
const LEGEND: f64 = 34.0;

/// Size of a label: of one character, and of the line; and from a mark's middle to its edge.
const CHARACTER: f64 = 6.6;
const LINE: f64 = 13.0;
const MARK: f64 = 5.0;

/// Rows of the vertical axis at most.
const ROWS: f64 = 8.0;

/// One plan.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Point {
    /// `k = 8` or `s = 8`.
    name: String,
    kept: u64,
    extra: u64,
}

/// Plans of one kind: their name, class and shape.
struct Series {
    name: &'static str,
    class: &'static str,
    shape: &'static str,
    points: Vec<Point>,
}

/// The picture of a schedule.
pub fn figure(schedule: &Schedule) -> Figure {
    drawn(schedule, None)
}

/// The picture with the plan of a replay marked; absent where nothing was recomputed, or where the chain is too long to
/// be planned.
pub fn of_replay(replay: &ReplayReport) -> Option<Figure> {
    let recomputation = replay.recomputation.as_ref()?;
    let depth = replay.model.blocks.get();
    (1..=LONGEST).contains(&depth).then_some(())?;
    let alone = |block, snapshots| series(&Schedule::new(depth, block, snapshots));
    let (used, model) = match replay.model.recompute {
        Recompute::None => return None,
        Recompute::Blocks => (alone(Some(1), None)[0].points[0].clone(), STATES),
        Recompute::Every(block) => (alone(Some(block.get().clamp(1, depth)), None)[0].points[0].clone(), STATES),
        Recompute::Snapshots(snapshots) => {
            (alone(None, Some(snapshots.get().clamp(1, depth)))[1].points[0].clone(), TAPE)
        }
    };
    let runs = words::count(recomputation.extra_block_runs.get(), "block run");
    let mut figure = drawn(&Schedule::new(depth, None, None), Some(&used));
    figure.title = format!("What recomputing {} costs and keeps", words::count(depth, "block"));
    figure.caption +=
        &format!(" The ring is this replay's plan, {}, {model}; on its tape {runs} were counted.", used.name);
    Some(figure)
}

const STATES: &str =
    "as the state model has it: there a block's last step is not run again, on the tape it is, to be recorded";
const TAPE: &str = "as the tape model has it";

fn series(schedule: &Schedule) -> [Series; 2] {
    let blocks = schedule.blocks.iter();
    let snapshots = schedule.snapshots.iter();
    [
        Series {
            name: "uniform blocks of k steps: states alive, transitions made again",
            class: "first",
            shape: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
            points: blocks
                .map(|row| Point { name: format!("k = {}", row.block), kept: row.alive, extra: row.transitions })
                .collect(),
        },
        Series {
            name: "s binomial snapshots: snapshots, advances without tape",
            class: "second",
            shape: "M-3.5 -3.5h7v7h-7z",
            points: snapshots
                .map(|row| Point { name: format!("s = {}", row.snapshots), kept: row.snapshots, extra: row.advances })
                .collect(),
        },
    ]
}

fn drawn(schedule: &Schedule, used: Option<&Point>) -> Figure {
    let series = series(schedule);
    let points = || series.iter().flat_map(|series| &series.points).chain(used);
    let kept = || points().map(|point| log2(point.kept));
    let (left, right) = kept().fold((f64::INFINITY, 0.0), |(low, high), kept| (kept.min(low), kept.max(high)));
    let extra = || points().map(|point| point.extra).filter(|extra| *extra > 0).map(log2);
    let high = extra().fold(1.0, f64::max).ceil();
    let low = extra().fold(high, f64::min).floor().min(high - 1.0);
    let step = ((high - low) / ROWS).ceil();
    let none = low - step;
    let plot = Plot::new(HEIGHT, ((left - 0.3).floor(), (right + 0.3).ceil()), (none, high + step / 2.0));
    let height = |extra: u64| if extra == 0 { none } else { log2(extra) };
    let place = |point: &Point| (plot.x.at(log2(point.kept)), plot.y.at(height(point.extra)));
    let powers = (0..).map(|index| low + f64::from(index) * step).take_while(|power| *power <= high);
    let mut rows: Vec<(f64, String)> = powers.map(|power| (power, power_of_two(power, high))).collect();
    rows.push((none, "0".to_owned()));
    let powers = plot.x.ticks().into_iter().filter(|power| power.fract() == 0.0 && *power >= 0.0);
    let ticks: Vec<(f64, String)> = powers.map(|power| (power, power_of_two(power, right))).collect();
    // Those that keep least are named first: the marks of best blocks stand close to others.
    let mut named: Vec<(&Point, (f64, f64))> = points().map(|point| (point, place(point))).collect();
    named.sort_by_key(|(point, _)| (Some(*point) != used, point.kept));
    let labels = labels(&named);
    let drawing = html! {
        @for (index, series) in series.iter().enumerate() {
            g class={ "marks " (series.class) } transform={ "translate(80 " (at(8.0 + 17.0 * index as f64)) ")" } {
                path d=(series.shape) {}
                text.legend x="9" y="4" { (series.name) }
            }
        }
        g transform={ "translate(0 " (LEGEND) ")" } {
            (plot.rows(&rows))
            (plot.columns_named(&ticks, "kept at once: states or snapshots (logarithmic)"))
            (plot.name("extra forward steps (logarithmic)"))
            @for series in &series {
                @let line = series.points.iter().map(place).map(|(x, y)| format!("{},{}", at(x), at(y)));
                polyline class={ "line " (series.class) } points=(line.collect::<Vec<_>>().join(" ")) {}
                g class={ "marks " (series.class) } {
                    @for point in &series.points { (mark(point, series.shape, place(point))) }
                }
            }
            @if let Some(used) = used {
                @let (x, y) = place(used);
                circle.ring cx=(at(x)) cy=(at(y)) r="9" {}
            }
            @for (x, y, label) in labels { text.value x=(at(x)) y=(at(y)) { (label) } }
        }
    };
    Figure {
        id: "recompute".to_owned(),
        title: format!("What recomputing a chain of {} costs and keeps", words::count(schedule.depth, "step")),
        description: described(&series, used),
        caption: format!(
            "Each mark is a plan: to the left it keeps less, below it runs less again, on the lowest line nothing. The two kinds count different \
             things, so compare marks of one kind. Storing every state keeps {} and runs nothing again.",
            schedule.store_all
        ),
        height: HEIGHT + LEGEND,
        drawing,
    }
}

fn log2(value: u64) -> f64 {
    log10(value as f64) / log10(2.0)
}

/// `1024`, or `2^10` on an axis that goes beyond a million.
fn power_of_two(power: f64, last: f64) -> String {
    if last < 20.0 { (1_u64 << power as u32).to_string() } else { format!("2^{power}") }
}

fn mark(point: &Point, shape: &str, (x, y): (f64, f64)) -> Markup {
    html! {
        path d=(shape) transform={ "translate(" (at(x)) " " (at(y)) ")" } {
            title { (point.name) ": " (point.kept) " kept, " (words::count(point.extra, "extra forward step")) }
        }
    }
}

/// Left, top, right and bottom.
type Area = [f64; 4];

/// The names of those points that have room for them above or below their mark, the first before the others; all are in the marks' titles and in the tables.
fn labels<'a>(points: &[(&'a Point, (f64, f64))]) -> Vec<(f64, f64, &'a str)> {
    let mut taken: Vec<Area> = points.iter().map(|(_, (x, y))| [x - MARK, y - MARK, x + MARK, y + MARK]).collect();
    let mut labels: Vec<(f64, f64, &str)> = vec![];
    for (point, (x, y)) in points {
        if labels.iter().any(|(.., name)| *name == point.name) {
            continue;
        }
        let wide = CHARACTER * point.name.chars().count() as f64;
        let beside = [(x - wide / 2.0, y - 11.0), (x - wide / 2.0, y + 20.0)];
        let area = |(left, base): (f64, f64)| [left, base - LINE + 3.0, left + wide, base + 3.0];
        let is_free = |at: &(f64, f64)| !taken.iter().any(|other| overlap(other, &area(*at)));
        if let Some((left, base)) = beside.into_iter().find(is_free) {
            taken.push(area((left, base)));
            labels.push((left, base, &point.name));
        }
    }
    labels
}

fn overlap(one: &Area, other: &Area) -> bool {
    one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3]
}

fn described(series: &[Series], used: Option<&Point>) -> String {
    let said = |point: &Point| format!("{} keeps {} and runs {} again", point.name, point.kept, point.extra);
    let all = series.iter().map(|series| {
        let points: Vec<String> = series.points.iter().map(said).collect();
        format!("{}: {}.", series.name, points.join("; "))
    });
    let used = used.map(|used| format!("Used: {}.", said(used)));
    all.chain(used).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mark_is_a_row_of_the_tables_and_stands_in_order() {
        for depth in [1, 3, 64, LONGEST] {
            let schedule = Schedule::new(depth, None, None);
            let page = figure(&schedule).html().into_string();
            let marks = |class: &str| -> Vec<(f64, f64, String)> {
                let marks = page.split(&format!("<g class=\"marks {class}\">")).nth(1).expect("marks");
                let marks = marks.split("</g>").next().expect("an end").split("translate(").skip(1);
                let parsed = |mark: &str| {
                    let (at, rest) = mark.split_once(")\"><title>")?;
                    let (x, y) = at.split_once(' ')?;
                    Some((x.parse().ok()?, y.parse().ok()?, rest.split("</title>").next()?.to_owned()))
                };
                marks.map(|mark| parsed(mark).expect("a mark")).collect()
            };
            let said = |name: String, kept: u64, extra: u64| {
                format!("{name}: {kept} kept, {}", words::count(extra, "extra forward step"))
            };
            let blocks = schedule.blocks.iter();
            let blocks = blocks.map(|row| {
                (said(format!("k = {}", row.block), row.alive, row.transitions), row.alive, row.transitions)
            });
            let snapshots = schedule.snapshots.iter();
            let snapshots = snapshots.map(|row| {
                (said(format!("s = {}", row.snapshots), row.snapshots, row.advances), row.snapshots, row.advances)
            });
            for (class, rows) in [("first", blocks.collect::<Vec<_>>()), ("second", snapshots.collect())] {
                let marks = marks(class);
                assert_eq!(marks.len(), rows.len(), "{depth}");
                for ((x, y, title), (said, kept, extra)) in marks.iter().zip(&rows) {
                    assert_eq!(title, said);
                    for ((other_x, other_y, _), (_, other_kept, other_extra)) in marks.iter().zip(&rows) {
                        assert!(
                            (kept >= other_kept || x <= other_x) && (extra >= other_extra || y >= other_y),
                            "{title}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn labels_cover_no_mark_and_no_label() {
        let names = ["k = 1", "k = 2", "k = 3", "k = 4", "k = 5"];
        let points = names.map(|name| Point { name: name.to_owned(), kept: 1, extra: 1 });
        let placed: Vec<(&Point, (f64, f64))> = points.iter().map(|point| (point, (100.0, 100.0))).collect();
        let labels = labels(&placed);
        assert_eq!(labels.iter().map(|(.., name)| *name).collect::<Vec<_>>(), names[..2], "above and below, no third");
        assert!(labels.iter().all(|(x, y, _)| overlap(&[0.0, 0.0, 200.0, 200.0], &[*x, *y, *x, *y])));
    }
}

//! What one target counted for in the worst window, against its fair share: the picture of a mean of means.
use super::Figure;
use super::WIDTH;
use super::at;
use super::text;
use crate::receipt::document::MicrobatchReport;
use crate::receipt::document::Receipt;
use crate::report::explain::window;
use crate::report::number;
use crate::report::words;
use maud::Markup;
use maud::html;

/// Height of a row, of what stands above them, and of the axis below.
const ROW: f64 = 26.0;
const ABOVE: f64 = 58.0;
const BELOW: f64 = 42.0;

/// Where bars begin and end.
const BARS: (f64, f64) = (190.0, 560.0);

/// What one target of a microbatch counted for, as a multiple of its fair share.
struct Row<'a> {
    microbatch: &'a MicrobatchReport,
    /// What was seen.
    seen: Option<f64>,
    /// What a mean of means would give.
    of_means: Option<f64>,
}

/// The picture of a window; absent where the receipt holds no microbatches or nothing is known of their weights.
pub fn figure(receipt: &Receipt, asked: Option<u64>) -> Option<Figure> {
    let window = asked.or_else(|| worst(receipt))?;
    let of_window: Vec<&MicrobatchReport> =
        receipt.microbatches.iter().flatten().filter(|each| each.window.get() == window).collect();
    let targets: u64 = of_window.iter().map(|each| each.valid_targets.get()).sum();
    let count = of_window.len() as f64;
    let is_token_mean = receipt.formula.as_deref() == Some("token-mean/1");
    let (chosen, left_out) = window::chosen(of_window);
    let rows: Vec<Row<'_>> = chosen
        .into_iter()
        .map(|microbatch| Row {
            microbatch,
            seen: window::share(microbatch),
            of_means: (is_token_mean && microbatch.valid_targets.get() > 0)
                .then(|| targets as f64 / (count * microbatch.valid_targets.to_f64())),
        })
        .collect();
    rows.iter().any(|row| row.seen.is_some() || row.of_means.is_some()).then_some(())?;
    let more = match left_out {
        0 => String::new(),
        more => format!(" {}, less far off, not shown.", words::count(more as u64, "more microbatch")),
    };
    Some(Figure {
        id: "shares".to_owned(),
        title: format!("What one target counted for in window {window}"),
        description: described(&rows),
        caption: format!(
            "A bar for each microbatch: the weight of one of its targets, as a multiple of the fair share that the \
             declared formula gives it. Every bar should end at the line; those that are off by more than a hundredth are \
             red.{} n: the microbatch's valid targets.{more}",
            if rows.iter().any(|row| row.of_means.is_some()) {
                " The outline is what a mean of means would give."
            } else {
                ""
            },
        ),
        height: ABOVE + ROW * rows.len() as f64 + BELOW,
        drawing: drawing(&rows),
    })
}

/// The window with the weight that is furthest off; where all are right or none was seen, the one in which a mean of
/// means would be.
fn worst(receipt: &Receipt) -> Option<u64> {
    let off = |microbatch: &MicrobatchReport| window::share(microbatch).map(|share| (share - 1.0).abs());
    let microbatches = receipt.microbatches.as_deref()?;
    let furthest = microbatches.iter().filter_map(|each| Some((off(each)?, each))).reduce(|worst, each| {
        // The first among equals.
        if each.0 > worst.0 { each } else { worst }
    });
    let is_off = receipt.windows.iter().flatten().any(|window| window.deltas.is_some());
    let of_means = receipt.counterexample.as_ref().and_then(|example| example.window).map(|window| window.get());
    let furthest = furthest.map(|(_, microbatch)| microbatch.window.get());
    let first = microbatches.first().map(|microbatch| microbatch.window.get());
    if is_off { furthest } else { of_means.or(furthest).or(first) }
}

fn drawing(rows: &[Row<'_>]) -> Markup {
    let most = rows.iter().flat_map(|row| [row.seen, row.of_means]).flatten().fold(1.2, f64::max);
    let x = |share: f64| BARS.0 + share.max(0.0) / most * (BARS.1 - BARS.0);
    let end = ABOVE + ROW * rows.len() as f64;
    html! {
        text.tick x=(at(x(1.0))) y="16" text-anchor="middle" { "fair share" }
        line.limit x1=(at(x(1.0))) x2=(at(x(1.0))) y1="22" y2=(at(end + 4.0)) {}
        @for (index, row) in rows.iter().enumerate() {
            @let y = ABOVE + ROW * index as f64;
            g {
                title { (text(row.microbatch.microbatch.as_str())) }
                text.label x=(at(BARS.0 - 10.0)) y=(at(y + 16.0)) text-anchor="end" { (label(row.microbatch)) }
                @if let Some(share) = row.seen {
                    rect.bar.off[is_off(share)] x=(at(BARS.0)) y=(at(y + 4.0)) width=(at(x(share) - BARS.0)) height="17" {}
                }
                @if let Some(share) = row.of_means {
                    rect.outline x=(at(BARS.0)) y=(at(y + 2.0)) width=(at(x(share) - BARS.0)) height="21" {}
                }
                // Beyond the bars and the line, so that it covers neither.
                text.value x=(at(x(row.seen.unwrap_or(0.0).max(row.of_means.unwrap_or(0.0)).max(1.0)) + 8.0)) y=(at(y + 17.0)) {
                    (seen(row))
                    @if let Some(share) = row.of_means {
                        tspan.aside { ", means × " (number::significant(share, 4)) }
                    }
                }
            }
        }
        line.axis x1=(at(BARS.0)) x2=(at(BARS.1)) y1=(at(end + 4.0)) y2=(at(end + 4.0)) {}
        @for tick in ticks(most) {
            line.axis x1=(at(x(tick))) x2=(at(x(tick))) y1=(at(end + 4.0)) y2=(at(end + 9.0)) {}
            text.tick x=(at(x(tick))) y=(at(end + 21.0)) text-anchor="middle" { (number::ratio(tick)) }
        }
        text.name x=(at((BARS.0 + BARS.1) / 2.0)) y=(at(end + 37.0)) text-anchor="middle" { "weight of one target ÷ fair share" }
        line.axis x1=(at(BARS.0)) x2=(at(BARS.0)) y1=(at(ABOVE)) y2=(at(end + 4.0)) {}
        (legend(rows))
    }
}

/// A swatch for each kind of bar that there is.
fn legend(rows: &[Row<'_>]) -> Markup {
    let seen = |off| rows.iter().filter_map(|row| row.seen).any(|share| is_off(share) == off);
    let kinds = [
        ("swatch bar", "seen", seen(false)),
        ("swatch bar off", "seen, off", seen(true)),
        ("swatch outline", "mean of means", rows.iter().any(|row| row.of_means.is_some())),
    ];
    html! {
        @for (index, (class, name, _)) in kinds.into_iter().filter(|(_, _, is_there)| *is_there).enumerate() {
            @let y = 6.0 + 17.0 * index as f64;
            rect class=(class) x=(at(WIDTH - 122.0)) y=(at(y)) width="16" height="11" {}
            text.legend x=(at(WIDTH - 100.0)) y=(at(y + 10.0)) { (name) }
        }
    }
}

fn seen(row: &Row<'_>) -> String {
    row.seen.map_or("not recorded".to_owned(), |share| format!("seen × {}", number::significant(share, 4)))
}

/// Whether a weight is off by more than a hundredth: less is not to be seen.
fn is_off(share: f64) -> bool {
    (share - 1.0).abs() > 0.01
}

fn label(microbatch: &MicrobatchReport) -> String {
    format!("rank {} #{} · n {}", microbatch.rank, microbatch.backward_index, microbatch.valid_targets)
}

fn ticks(most: f64) -> Vec<f64> {
    let step = [0.2, 0.5, 1.0, 2.0, 5.0].into_iter().find(|step| most / step <= 8.0).unwrap_or((most / 8.0).ceil());
    (0..=8).map(|index| f64::from(index) * step).take_while(|tick| *tick <= most).collect()
}

fn described(rows: &[Row<'_>]) -> String {
    let row = |row: &Row<'_>| {
        let seen = row.seen.map_or("not recorded".to_owned(), |share| format!("{} times", number::near_one(share)));
        let of_means =
            row.of_means.map_or(String::new(), |share| format!(", by a mean of means {}", number::ratio(share)));
        format!("{}: {seen}{of_means}", label(row.microbatch))
    };
    format!("Multiples of the fair share. {}.", rows.iter().map(row).collect::<Vec<_>>().join("; "))
}

//! Loss scale and skipped updates over the windows.
use super::Figure;
use super::at;
use super::buckets;
use super::plot::Plot;
use super::plot::log10;
use crate::report::number;
use crate::report::timeline::ScaleAt;
use crate::report::timeline::Timeline;
use crate::report::words;
use maud::html;

/// Height of the picture.
const HEIGHT: f64 = 240.0;

/// Some windows in a row.
struct Column {
    window: f64,
    /// The least and the largest scale.
    scales: Option<(f64, f64)>,
    skipped: usize,
}

/// The picture; absent where no scale was recorded.
pub fn figure(timeline: &Timeline) -> Option<Figure> {
    let windows = &timeline.scales;
    let size = buckets::size(windows.len());
    let columns: Vec<Column> = windows.chunks(size).map(column).collect();
    let scales = || columns.iter().filter_map(|column| column.scales);
    let low = scales().map(|(low, _)| log2(low)).reduce(f64::min)?;
    let high = scales().map(|(_, high)| log2(high)).reduce(f64::max)?;
    let (low, high) = (low.floor() - 1.0, high.ceil() + 1.0);
    let first = columns.first().map_or(0.0, |column| column.window);
    let last = columns.last().map_or(0.0, |column| column.window);
    // A window's step stands around its number.
    let plot = Plot::new(HEIGHT, (first - 0.5, last + size as f64 - 0.5), (low, high));
    let step = ((high - low) / 6.0).ceil().max(1.0);
    let powers = (1..=6).map(|index| low + f64::from(index) * step).take_while(|power| *power <= high);
    let rows: Vec<(f64, String)> = powers.map(|power| (power, named(power, high))).collect();
    let mut points: Vec<String> = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let Some((low, high)) = column.scales else { continue };
        let next = columns.get(index + 1).map_or(column.window + size as f64, |next| next.window);
        for (x, scale) in [(column.window - 0.5, high), (column.window - 0.5, low), (next - 0.5, low)] {
            points.push(format!("{},{}", at(plot.x.at(x)), at(plot.y.at(log2(scale)))));
        }
    }
    let skipped: usize = columns.iter().map(|column| column.skipped).sum();
    let drawing = html! {
        (plot.rows(&rows))
        (plot.columns(&plot.windows(), "window"))
        (plot.name("loss scale S (logarithmic)"))
        polyline.first.line points=(points.join(" ")) {}
        @for column in columns.iter().filter(|column| column.skipped > 0) {
            g.cross transform={ "translate(" (at(plot.x.at(column.window))) " " (at(plot.y.at(low) - 8.0)) ")" } {
                title { (words::count(column.skipped as u64, "skipped update")) " from window " (number::ratio(column.window)) " on" }
                path d="M-4 -4L4 4M4 -4L-4 4" {}
            }
        }
    };
    let range = match scales().fold((f64::INFINITY, 0.0_f64), |(l, h), (low, high)| (l.min(low), h.max(high))) {
        (low, high) if low == high => format!("The loss scale stays at {}", number::ratio(low)),
        (low, high) => format!("The loss scale moves between {} and {}", number::ratio(low), number::ratio(high)),
    };
    Some(Figure {
        id: "scale".to_owned(),
        title: "Loss scale and skipped updates".to_owned(),
        description: format!("{range}; {}.", words::count(skipped as u64, "skipped update")),
        caption: format!(
            "The scale with which each window's loss was multiplied, in powers of two. A cross marks a window whose update \
             was skipped.{}",
            buckets::said(size).replace("the worst of", "of")
        ),
        height: HEIGHT,
        drawing,
    })
}

fn column(windows: &[ScaleAt]) -> Column {
    let scales = || windows.iter().filter_map(|window| window.scale).filter(|scale| *scale > 0.0);
    Column {
        window: windows[0].window as f64,
        scales: scales().reduce(f64::min).zip(scales().reduce(f64::max)),
        skipped: windows.iter().filter(|window| window.is_skipped).count(),
    }
}

fn log2(value: f64) -> f64 {
    log10(value) / log10(2.0)
}

/// `65536`, or `2^16` on an axis that goes beyond what has room.
fn named(power: f64, high: f64) -> String {
    match power {
        power if power >= 0.0 && high < 20.0 => format!("{}", 1_u32 << power as u32),
        power => format!("2^{power}"),
    }
}

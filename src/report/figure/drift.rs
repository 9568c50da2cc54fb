//! Drift of each window against the tolerance, on a logarithmic scale.
use super::Figure;
use super::WIDTH;
use super::at;
use super::buckets;
use super::plot::Plot;
use super::plot::log10;
use crate::canonical::Finite;
use crate::receipt::document::Receipt;
use crate::receipt::document::WindowReport;
use crate::report::explain::drift::Drift;
use crate::report::number;
use crate::report::words;
use maud::Markup;
use maud::html;

/// Height of the picture.
const HEIGHT: f64 = 330.0;

/// Room above the area for the legend.
const LEGEND: f64 = 26.0;

/// Columns up to which marks stand side by side.
const ROOMY: usize = 16;

/// What is plotted: its name, its class, its shape's path around the origin.
struct Series {
    name: &'static str,
    class: &'static str,
    shape: &'static str,
    of: fn(&WindowReport, &Drift) -> Option<f64>,
}

/// In the order of drawing: what the run did over what it could have done.
const SERIES: [Series; 4] = [
    Series {
        name: "a mean of means, for comparison",
        class: "compared",
        shape: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
        of: |window, _| window.mean_of_means.relative_drift.map(Finite::get),
    },
    Series { name: "worst weight", class: "third", shape: "M0 -5L5 4L-5 4z", of: |_, drift| drift.weight },
    Series {
        name: "loss of the update",
        class: "first",
        shape: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
        of: |_, drift| drift.loss,
    },
    Series { name: "logged loss", class: "second", shape: "M-3.5 -3.5h7v7h-7z", of: |_, drift| drift.logged },
];

/// The worst of some windows in a row.
struct Column {
    window: f64,
    drifts: [Option<f64>; 4],
    tolerance: f64,
}

/// The picture; absent where nothing can be compared.
pub fn figure(receipt: &Receipt) -> Option<Figure> {
    let windows = receipt.windows.as_deref().filter(|windows| !windows.is_empty())?;
    let size = buckets::size(windows.len());
    let columns: Vec<Column> = windows.chunks(size).map(|chunk| column(receipt, chunk)).collect();
    let values = || columns.iter().flat_map(|column| column.drifts.into_iter().flatten().chain([column.tolerance]));
    columns.iter().any(|column| column.drifts.iter().any(Option::is_some)).then_some(())?;
    let positive = || values().filter(|value| *value > 0.0 && value.is_finite()).map(log10);
    let low = positive().fold(0.0, f64::min).floor() - 1.0;
    let high = positive().fold(low + 2.0, f64::max).ceil();
    let last = columns.last().map_or(1.0, |column| column.window);
    let has_infinite = values().any(|value| value == f64::INFINITY);
    let top = if has_infinite { high + 1.0 } else { high };
    let room = if columns.len() > ROOMY { 0.0 } else { 0.5 };
    let plot = Plot::new(HEIGHT, (columns[0].window - room, last + room), (low, top));
    let height = |value: f64| match value {
        0.0 => low,
        f64::INFINITY => top,
        value => log10(value).clamp(low, top),
    };
    let drawing = html! {
        g transform={ "translate(0 " (LEGEND) ")" } {
            (plot.rows(&rows(low, high, has_infinite)))
            (plot.columns(&plot.windows(), "window"))
            (plot.name("relative drift (logarithmic)"))
            polyline.limit points=(points(&plot, &columns, height)) {}
            @for (index, series) in SERIES.iter().enumerate() {
                g class={ "marks " (series.class) } {
                    @for column in &columns {
                        @if let Some(drift) = column.drifts[index] {
                            @let x = plot.x.at(column.window) + aside(index, columns.len());
                            path d=(series.shape) transform={ "translate(" (at(x)) " " (at(plot.y.at(height(drift)))) ")" } {}
                        }
                    }
                }
            }
        }
        (legend(&columns))
    };
    Some(Figure {
        id: "drift".to_owned(),
        title: "Drift of each window against the tolerance".to_owned(),
        description: described(windows, receipt),
        caption: format!(
            "How far each window is from what was declared, relative, on a logarithmic scale. Above the dashed line is \
             beyond the tolerance; on the lowest line there is no drift at all.{}",
            buckets::said(size)
        ),
        height: HEIGHT + LEGEND,
        drawing,
    })
}

fn column(receipt: &Receipt, windows: &[WindowReport]) -> Column {
    let drifts = SERIES
        .map(|series| windows.iter().filter_map(|window| (series.of)(window, &Drift::of(window))).reduce(f64::max));
    let tolerances = windows.iter().map(|window| tolerance(receipt, window));
    Column { window: windows[0].window.to_f64(), drifts, tolerance: tolerances.fold(f64::INFINITY, f64::min) }
}

/// The accepted difference of a loss, relative to it.
fn tolerance(receipt: &Receipt, window: &WindowReport) -> f64 {
    let Some(contract) = &receipt.contract else { return 0.0 };
    let loss = window.loss.map_or(0.0, |loss| loss.get().abs());
    let absolute = contract.tolerance.absolute.get();
    contract.tolerance.relative.get() + if loss > 0.0 { absolute / loss } else { 0.0 }
}

/// A row for each decade, or for some of them.
fn rows(low: f64, high: f64, has_infinite: bool) -> Vec<(f64, String)> {
    let step = ((high - low) / 8.0).ceil().max(1.0);
    let decades = (0..).map(|index| high - f64::from(index) * step).take_while(|decade| *decade > low);
    let mut rows: Vec<(f64, String)> = decades.map(|decade| (decade, power(decade))).collect();
    rows.push((low, "0".to_owned()));
    if has_infinite {
        rows.push((high + 1.0, "∞".to_owned()));
    }
    rows
}

fn power(decade: f64) -> String {
    match decade {
        0.0 => "1".to_owned(),
        1.0 => "10".to_owned(),
        2.0 => "100".to_owned(),
        _ if decade == -1.0 => "0.1".to_owned(),
        _ if decade == -2.0 => "0.01".to_owned(),
        decade => format!("1e{decade}"),
    }
}

/// The tolerance from one end of the area to the other.
fn points(plot: &Plot, columns: &[Column], height: impl Fn(f64) -> f64) -> String {
    let point =
        |(x, column): (f64, &Column)| format!("{},{}", at(plot.x.at(x)), at(plot.y.at(height(column.tolerance))));
    let start = columns.first().map(|column| (f64::NEG_INFINITY, column));
    let end = columns.last().map(|column| (f64::INFINITY, column));
    let inside = columns.iter().map(|column| (column.window, column));
    start.into_iter().chain(inside).chain(end).map(point).collect::<Vec<_>>().join(" ")
}

/// How far a series stands aside, so that equal drifts do not hide each other where there is room.
fn aside(series: usize, columns: usize) -> f64 {
    if columns > ROOMY { 0.0 } else { (series as f64 - 1.5) * 9.0 }
}

/// The series that are there, and the tolerance.
fn legend(columns: &[Column]) -> Markup {
    let used: Vec<&Series> = SERIES
        .iter()
        .enumerate()
        .filter(|(index, _)| columns.iter().any(|column| column.drifts[*index].is_some()))
        .map(|(_, series)| series)
        .rev()
        .collect();
    // As wide as the names are, at about this many columns a character.
    let wide = |name: &str| 24.0 + 6.6 * name.chars().count() as f64;
    let mut x = 80.0;
    let mut place = |name: &str| {
        let here = x;
        x += wide(name);
        at(here.min(WIDTH))
    };
    html! {
        @for series in used {
            g class={ "marks " (series.class) } transform={ "translate(" (place(series.name)) " 16)" } {
                path d=(series.shape) {}
                text.legend x="9" y="4" { (series.name) }
            }
        }
        g transform={ "translate(" (place("tolerance")) " 16)" } {
            line.limit x1="-6" x2="10" y1="0" y2="0" {}
            text.legend x="15" y="4" { "tolerance" }
        }
    }
}

fn described(windows: &[WindowReport], receipt: &Receipt) -> String {
    let own = |window: &WindowReport| {
        let drift = Drift::of(window);
        [drift.loss, drift.weight, drift.logged].into_iter().flatten().reduce(f64::max)
    };
    let drifts: Vec<(u64, f64, bool)> = windows
        .iter()
        .filter_map(|window| own(window).map(|drift| (window.window.get(), drift, drift > tolerance(receipt, window))))
        .collect();
    let all = words::count(windows.len() as u64, "window");
    let Some((worst, drift, _)) = drifts.iter().copied().max_by(|left, right| left.1.total_cmp(&right.1)) else {
        return format!("{all}; of none was a loss or a weight recorded that could drift.");
    };
    let beyond = drifts.iter().filter(|(.., is_beyond)| *is_beyond).count();
    format!(
        "{beyond} of {all} drift beyond the tolerance. The largest drift is {}, in window {worst}.",
        number::ratio(drift)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing;
    use crate::report::testing::finite;

    /// A right window and a wrong one, and how far the wrong one is off.
    fn receipt() -> (Receipt, f64) {
        let receipt = testing::violated(&[&testing::RIGHT, &testing::MEAN_OF_MEANS]);
        let drift = Drift::of(&receipt.windows.as_ref().expect("windows")[1]);
        let drift = [drift.loss, drift.weight, drift.logged].into_iter().flatten().reduce(f64::max).expect("a drift");
        (receipt, drift)
    }

    #[test]
    fn beyond_is_beyond_the_declared_tolerance() {
        for (part, beyond) in [(0.5, 1), (0.999, 1), (1.001, 0)] {
            let (mut receipt, drift) = receipt();
            let contract = receipt.contract.as_mut().expect("a contract");
            (contract.tolerance.relative, contract.tolerance.absolute) = (finite(drift * part), finite(0.0));
            let description = figure(&receipt).expect("a picture").description;
            let said = format!("{beyond} of 2 windows drift beyond the tolerance. The largest drift is ");
            assert!(description.starts_with(&said) && description.ends_with(", in window 1."), "{part}: {description}");
        }
    }

    #[test]
    fn a_column_is_its_worst_window_and_its_least_tolerance() {
        let (mut receipt, _) = receipt();
        receipt.contract.as_mut().expect("a contract").tolerance.absolute = finite(0.5);
        receipt.windows.as_mut().expect("windows")[1].loss = Some(finite(100.0));
        let windows = receipt.windows.as_deref().expect("windows");
        let [right, wrong] = [0, 1].map(|at| column(&receipt, &windows[at..=at]));
        assert!(right.tolerance > wrong.tolerance);
        let both = column(&receipt, windows);
        assert_eq!(both.tolerance, wrong.tolerance);
        let relative = receipt.contract.as_ref().expect("a contract").tolerance.relative.get();
        assert_eq!(both.tolerance, relative + 0.5 / 100.0);
        for ((both, right), wrong) in both.drifts.into_iter().zip(right.drifts).zip(wrong.drifts) {
            assert_eq!(both, right.into_iter().chain(wrong).reduce(f64::max));
        }
    }
}

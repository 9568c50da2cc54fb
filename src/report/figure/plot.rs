//! Axes: from numbers to coordinates, with ticks at round numbers.
use super::WIDTH;
use super::at;
use crate::numeric::math;
use crate::report::number;
use maud::Markup;
use maud::html;

/// Room for the labels of the vertical axis, of the horizontal one, and at the other sides.
const LEFT: f64 = 72.0;
const BOTTOM: f64 = 44.0;
const TOP: f64 = 14.0;
const RIGHT: f64 = 18.0;

/// Ticks of an axis at most.
const TICKS: f64 = 8.0;

/// One axis.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    from: f64,
    to: f64,
    /// Coordinates of the two.
    start: f64,
    end: f64,
}

impl Axis {
    fn new((from, to): (f64, f64), start: f64, end: f64) -> Self {
        let to = if to > from { to } else { from + 1.0 };
        Axis { from, to, start, end }
    }

    /// A value's coordinate; what is beyond the axis stands at its end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let part = (value.clamp(self.from, self.to) - self.from) / (self.to - self.from);
        self.start + part * (self.end - self.start)
    }

    /// Round numbers within the axis.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let step = step((self.to - self.from) / TICKS);
        let first = (self.from / step).ceil();
        let ticks = (0..=TICKS as u32 + 2).map(|index| (first + f64::from(index)) * step);
        ticks.take_while(|tick| *tick <= self.to).collect()
    }
}

/// The least of 1, 2, 5, 10, 20, … (and below 1 of 0.5, 0.2, …) that is not below this.
fn step(least: f64) -> f64 {
    let power = log10(least).floor();
    let decade = math::pow(10.0, power);
    [1.0, 2.0, 5.0].into_iter().map(|factor| factor * decade).find(|step| *step >= least).unwrap_or(10.0 * decade)
}

/// The decimal logarithm.
pub(super) fn log10(value: f64) -> f64 {
    math::ln(value) / std::f64::consts::LN_10
}

/// A plot's area with its axes.
#[derive(Clone, Debug)]
pub(super) struct Plot {
    pub(super) x: Axis,
    pub(super) y: Axis,
    height: f64,
}

impl Plot {
    /// An area this high, over these ranges.
    pub(super) fn new(height: f64, x: (f64, f64), y: (f64, f64)) -> Self {
        Plot { x: Axis::new(x, LEFT, WIDTH - RIGHT), y: Axis::new(y, height - BOTTOM, TOP), height }
    }

    /// A horizontal line across the area at each of these values, with its label.
    pub(super) fn rows(&self, rows: &[(f64, String)]) -> Markup {
        html! {
            @for (value, label) in rows {
                line.grid x1=(at(LEFT)) x2=(at(WIDTH - RIGHT)) y1=(at(self.y.at(*value))) y2=(at(self.y.at(*value))) {}
                text.tick x=(at(LEFT - 8.0)) y=(at(self.y.at(*value) + 4.0)) text-anchor="end" { (label) }
            }
        }
    }

    /// The horizontal axis with its ticks.
    pub(super) fn columns(&self, ticks: &[f64], label: &str) -> Markup {
        let ticks: Vec<(f64, String)> = ticks.iter().map(|tick| (*tick, number::ratio(*tick))).collect();
        self.columns_named(&ticks, label)
    }

    /// The horizontal axis with ticks that have names of their own.
    pub(super) fn columns_named(&self, ticks: &[(f64, String)], label: &str) -> Markup {
        let y = self.height - BOTTOM;
        html! {
            line.axis x1=(at(LEFT)) x2=(at(WIDTH - RIGHT)) y1=(at(y)) y2=(at(y)) {}
            @for (tick, name) in ticks {
                line.axis x1=(at(self.x.at(*tick))) x2=(at(self.x.at(*tick))) y1=(at(y)) y2=(at(y + 5.0)) {}
                text.tick x=(at(self.x.at(*tick))) y=(at(y + 18.0)) text-anchor="middle" { (name) }
            }
            text.name x=(at((LEFT + WIDTH - RIGHT) / 2.0)) y=(at(self.height - 8.0)) text-anchor="middle" { (label) }
        }
    }

    /// What the vertical axis is, along it.
    pub(super) fn name(&self, label: &str) -> Markup {
        let y = (TOP + self.height - BOTTOM) / 2.0;
        html! {
            text.name x="11" y=(at(y)) text-anchor="middle" transform={ "rotate(-90 11 " (at(y)) ")" } { (label) }
        }
    }

    /// Ticks at windows: whole numbers only.
    pub(super) fn windows(&self) -> Vec<f64> {
        self.x.ticks().into_iter().filter(|tick| tick.fract() == 0.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        for (from, to, ticks) in [
            (0.0, 7.0, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]),
            (0.0, 99_999.0, vec![0.0, 20_000.0, 40_000.0, 60_000.0, 80_000.0]),
            (3.0, 4.0, vec![3.0, 3.2, 3.4, 3.6, 3.8, 4.0]),
        ] {
            let found = Axis::new((from, to), 0.0, 100.0).ticks();
            let close = found.iter().zip(&ticks).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(found.len() == ticks.len() && close, "{found:?}");
        }
    }

    #[test]
    fn values_stand_in_order_and_within() {
        let axis = Axis::new((0.0, 10.0), 100.0, 200.0);
        assert_eq!([-1.0, 0.0, 5.0, 10.0, 99.0].map(|value| axis.at(value)), [100.0, 100.0, 150.0, 200.0, 200.0]);
        assert_eq!(Axis::new((3.0, 3.0), 0.0, 1.0).at(3.0), 0.0, "an axis of one value is no division by zero");
    }
}

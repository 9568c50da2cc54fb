//! What each wrong recipe would have made of this run's windows, by the replay: drift of the gradient and of the weights.
use super::Figure;
use super::at;
use super::plot::log10;
use super::text;
use crate::canonical::Finite;
use crate::replay::ReplayReport;
use crate::report::number;
use maud::Markup;
use maud::html;

/// Height of a recipe's row, of what stands above the rows, and of the axis below.
const ROW: f64 = 34.0;
const ABOVE: f64 = 30.0;
const BELOW: f64 = 46.0;

/// Where bars begin and end.
const BARS: (f64, f64) = (210.0, 600.0);

/// How far one recipe is from the full batch.
#[derive(Clone, Debug, PartialEq)]
pub struct RecipeDrift {
    /// Its name.
    pub recipe: String,
    /// The window in which it drifts most.
    pub window: u64,
    /// ‖g − reference‖₂ / ‖reference‖₂ of the gradient that the optimizer consumes.
    pub gradient_relative_l2: f64,
    /// Cosine between the two, where both have a direction.
    pub cosine: Option<f64>,
    /// The same of the weights after the update, where they were compared.
    pub weights_relative_l2: Option<f64>,
}

/// What a receipt's replay tells of recipes: the run's own worst window first.
pub fn drifts(replay: &ReplayReport) -> Vec<RecipeDrift> {
    let drift =
        |recipe: &str, window: u64, gradient: Option<Finite>, cosine: Option<Finite>, weights: Option<Finite>| {
            Some(RecipeDrift {
                recipe: recipe.to_owned(),
                window,
                gradient_relative_l2: gradient?.get(),
                cosine: cosine.map(Finite::get),
                weights_relative_l2: weights.map(Finite::get),
            })
        };
    let own = replay.worst.as_ref().and_then(|worst| {
        let gradient = worst.gradient.as_ref()?;
        drift("this run", worst.window.get(), gradient.relative, gradient.cosine, worst.weights.relative)
    });
    let others = replay.counterexamples.iter();
    let others =
        others.filter_map(|each| drift(&each.recipe, each.window.get(), each.gradient, each.cosine, each.weights));
    own.into_iter().chain(others).collect()
}

/// The picture, in the order given; absent without recipes.
pub fn figure(drifts: &[RecipeDrift]) -> Option<Figure> {
    let values =
        || drifts.iter().flat_map(|drift| [Some(drift.gradient_relative_l2), drift.weights_relative_l2]).flatten();
    let positive = || values().filter(|value| *value > 0.0 && value.is_finite()).map(log10);
    let high = positive().reduce(f64::max)?.ceil().max(0.0);
    let low = positive().fold(high - 1.0, f64::min).floor();
    let x = |value: f64| {
        let place = if value > 0.0 { log10(value).clamp(low, high) } else { low };
        BARS.0 + (place - low) / (high - low) * (BARS.1 - BARS.0)
    };
    let end = ABOVE + ROW * drifts.len() as f64;
    let step = ((high - low) / 8.0).ceil().max(1.0);
    let decades: Vec<f64> =
        (0..).map(|index| low + f64::from(index) * step).take_while(|decade| *decade <= high).collect();
    let drawing = html! {
        rect.bar x=(at(BARS.0)) y="8" width="16" height="9" {}
        text.legend x=(at(BARS.0 + 22.0)) y="16" { "gradient" }
        rect.bar.light x=(at(BARS.0 + 100.0)) y="8" width="16" height="9" {}
        text.legend x=(at(BARS.0 + 122.0)) y="16" { "weights after the update" }
        @for (index, drift) in drifts.iter().enumerate() {
            (row(drift, ABOVE + ROW * index as f64, x))
        }
        line.axis x1=(at(BARS.0)) x2=(at(BARS.0)) y1=(at(ABOVE)) y2=(at(end)) {}
        line.axis x1=(at(BARS.0)) x2=(at(BARS.1)) y1=(at(end)) y2=(at(end)) {}
        @for decade in &decades {
            @let place = BARS.0 + (decade - low) / (high - low) * (BARS.1 - BARS.0);
            line.axis x1=(at(place)) x2=(at(place)) y1=(at(end)) y2=(at(end + 5.0)) {}
            text.tick x=(at(place)) y=(at(end + 18.0)) text-anchor="middle" { "1e" (decade) }
        }
        text.name x=(at((BARS.0 + BARS.1) / 2.0)) y=(at(end + 38.0)) text-anchor="middle" {
            "relative L2 distance from the full batch (logarithmic)"
        }
    };
    let described = drifts.iter().map(|drift| {
        let cosine = drift.cosine.map_or(String::new(), |cosine| format!(", cosine {}", number::near_one(cosine)));
        format!(
            "{} in window {}: gradient {}{cosine}",
            drift.recipe,
            drift.window,
            number::ratio(drift.gradient_relative_l2)
        )
    });
    Some(Figure {
        id: "replay".to_owned(),
        title: "What each recipe would make of this run".to_owned(),
        description: format!("{}.", described.collect::<Vec<_>>().join("; ")),
        caption: "Each recipe executed on the embedded model over this run's windows, against one full batch, in the window \
                  where it drifts most: how far its gradient and the weights after the update are off, on a logarithmic scale, and the cosine between the two \
                  gradients."
            .to_owned(),
        height: end + BELOW,
        drawing,
    })
}

fn row(drift: &RecipeDrift, y: f64, x: impl Fn(f64) -> f64) -> Markup {
    let end = x(drift.gradient_relative_l2).max(drift.weights_relative_l2.map_or(0.0, &x));
    html! {
        text.label x=(at(BARS.0 - 10.0)) y=(at(y + 14.0)) text-anchor="end" { (text(&drift.recipe)) }
        text.note x=(at(BARS.0 - 10.0)) y=(at(y + 27.0)) text-anchor="end" { "window " (drift.window) }
        rect.bar x=(at(BARS.0)) y=(at(y + 4.0)) width=(at(x(drift.gradient_relative_l2) - BARS.0)) height="12" {}
        @if let Some(weights) = drift.weights_relative_l2 {
            rect.bar.light x=(at(BARS.0)) y=(at(y + 17.0)) width=(at(x(weights) - BARS.0)) height="9" {}
        }
        text.value x=(at(end + 8.0)) y=(at(y + 19.0)) {
            (number::significant(drift.gradient_relative_l2, 3))
            @if let Some(cosine) = drift.cosine { ", cos " (number::significant(cosine, 4)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drift(recipe: &str, gradient: f64) -> RecipeDrift {
        RecipeDrift {
            recipe: recipe.to_owned(),
            window: 7,
            gradient_relative_l2: gradient,
            cosine: Some(0.98),
            weights_relative_l2: Some(gradient / 100.0),
        }
    }

    #[test]
    fn bars_grow_with_the_drift_and_names_are_text() {
        let figure = figure(&[drift("mean-of-means", 0.3), drift("<b>\u{1b}", 0.0003)]).expect("a picture");
        let page = figure.html().into_string();
        let widths: Vec<f64> = page
            .split("height=\"12\"")
            .filter_map(|part| part.rsplit("width=\"").next()?.trim_end().trim_end_matches('"').parse().ok())
            .collect();
        assert!(widths.len() == 2 && widths[0] > widths[1] && widths[1] > 0.0, "{widths:?} of {page}");
        assert!(page.contains("&lt;b&gt;\\u{1b}") && !page.contains("<b>"), "{page}");
        assert!(page.contains("mean-of-means in window 7: gradient 0.3, cosine 0.98"), "{page}");
        assert!(super::figure(&[]).is_none());
    }
}

//! What executing the recorded events showed: how far the update was from the full batch's, beside known wrong recipes.
use crate::canonical::Finite;
use crate::receipt::document::Receipt;
use crate::replay::report::CounterexampleRun;
use crate::replay::report::DriftReport;
use crate::replay::report::ReplayReport;
use crate::replay::report::ReplayedWindow;
use crate::report::Style;
use crate::report::layout;
use crate::report::layout::Block;
use crate::report::layout::Section;
use crate::report::layout::Table;
use crate::report::layout::table::Cell;
use crate::report::number;
use crate::report::recomputation;
use crate::report::words;

/// Windows shown.
const SHOWN: usize = 8;

/// The replay alone, for a terminal.
pub fn text(replay: &ReplayReport, style: Style) -> String {
    layout::text::sections(&sections(replay), style)
}

/// The title of the section.
const TITLE: &str = "What executing it shows";

/// The replay in short, within a report about the whole run; absent where none was asked for.
pub fn section(receipt: &Receipt) -> Option<Section> {
    let replay = receipt.replay.as_ref()?;
    let section = Section::new(TITLE).paragraph(summary(replay));
    if replay.windows_judged.get() == 0 {
        return Some(section);
    }
    let section = worst(replay).into_iter().fold(section, Section::paragraph);
    let section = apart(replay).into_iter().fold(section, Section::paragraph);
    Some(section.paragraph(recipes_told(replay)).with(Block::Table(recipes(replay))))
}

/// The replay at length, window by window, for `receipt replay`.
pub fn sections(replay: &ReplayReport) -> Vec<Section> {
    let about = Section::new(TITLE).paragraph(summary(replay));
    if replay.windows_judged.get() == 0 {
        return vec![about];
    }
    let about = worst(replay).into_iter().fold(about, Section::paragraph);
    let about = cumulative(replay).into_iter().fold(about, Section::paragraph);
    let about = apart(replay).into_iter().fold(about, Section::paragraph);
    let all = replay.windows.iter().flatten();
    let windows = Section::new("Window by window").paragraph(WINDOWS_TOLD).with(Block::Table(windows(all.collect())));
    let recipes = Section::new("Known wrong recipes on these windows").paragraph(recipes_told(replay));
    let memory = replay.recomputation.as_ref().map(recomputation::section);
    [about, windows, recipes.with(Block::Table(self::recipes(replay)))].into_iter().chain(memory).collect()
}

const WINDOWS_TOLD: &str = "Each begins with the full batch's weights and moments. Gradients are as the optimizer consumed \
                            them; what is off is ‖run − full batch‖₂ over ‖full batch‖₂, and agrees up to what is allowed: the \
                            contract's tolerance and the floor together. The floor is the same distance of a correct accumulation, \
                            which only adds in another order.";

fn summary(replay: &ReplayReport) -> String {
    let judged = replay.windows_judged.get();
    let left: Vec<String> = replay
        .not_replayed
        .iter()
        .map(|left| format!("{} not executed: {}.", were(left.windows.get()), left.reason))
        .collect();
    let left = if left.is_empty() { String::new() } else { format!(" {}", left.join(" ")) };
    if judged == 0 {
        return format!("No window was executed.{left}");
    }
    let off = match replay.windows_off.get() {
        0 => "Each made the full batch's update.".to_owned(),
        off if off == judged => "None made the full batch's update.".to_owned(),
        off => format!("{} not make the full batch's update.", did(off)),
    };
    format!(
        "The recorded events were executed on a small decoder ({} parameters, {}) on synthetic rows with as many targets, \
         and beside them each window as one batch under the contract: {}, {}. {off}{left}",
        replay.parameters,
        format!("{:?}", replay.precision).to_lowercase(),
        words::count(judged, "window"),
        words::count(replay.targets.get(), "target"),
    )
}

fn were(windows: u64) -> String {
    format!("{} {}", words::count(windows, "window"), if windows == 1 { "was" } else { "were" })
}

fn did(windows: u64) -> String {
    format!("{} did", words::count(windows, "window"))
}

/// The window that is furthest off.
fn worst(replay: &ReplayReport) -> Option<String> {
    let window = replay.worst.as_ref()?;
    let gradient = window.gradient.as_ref()?;
    let allowed = relative_to(window, window.allowed)
        .map_or_else(String::new, |allowed| format!(", where {} is allowed", number::ratio(allowed)));
    let angle = gradient.cosine.map_or_else(String::new, |cosine| format!(" and turned by {}", degrees(cosine.get())));
    let angle = if replay.agrees { String::new() } else { angle };
    Some(format!(
        "Furthest off is window {}: its gradient is off by {} of its length{angle}{allowed}, most in {} [{}]; the weights after it \
         are off by {}.",
        window.window,
        or_unknown(gradient.relative),
        gradient.tensor,
        gradient.element,
        or_unknown(window.weights.relative),
    ))
}

fn cumulative(replay: &ReplayReport) -> Option<String> {
    let DriftReport { relative, tensor, element, .. } = &replay.cumulative.as_ref()?.weights;
    let relative = or_unknown(*relative);
    Some(format!(
        "Left to itself over these windows, the run ends with weights that are off by {relative} of theirs, most in {tensor} [{element}]."
    ))
}

/// How far ranks are from each other at the end, where they are.
fn apart(replay: &ReplayReport) -> Option<String> {
    let apart = replay.cumulative.as_ref()?.ranks_apart.filter(|apart| apart.get() > 0.0)?;
    let apart = number::ratio(apart.get());
    Some(format!("The ranks end with different weights: up to {apart} (L2) from rank 0's."))
}

fn recipes_told(replay: &ReplayReport) -> &'static str {
    if replay.control {
        "This run is a control: a mean of means gives every microbatch its declared weight, so that its drift is 0 up to rounding. \
         What the known wrong recipes would have done:"
    } else {
        "What the known wrong recipes would have done to these windows, each where its gradient drifts most:"
    }
}

fn recipes(replay: &ReplayReport) -> Table {
    let mut table = Table::new(&["recipe", "#window", "#gradient off", "#turned by", "#weights off"]);
    if let Some(window) = &replay.worst {
        let cosine = window.gradient.as_ref().and_then(|gradient| gradient.cosine);
        let gradient = window.gradient.as_ref().and_then(|gradient| gradient.relative);
        table.push(row("this run", window.window.get(), gradient, cosine, window.weights.relative));
    }
    for CounterexampleRun { recipe, window, gradient, cosine, weights } in &replay.counterexamples {
        table.push(row(recipe, window.get(), *gradient, *cosine, *weights));
    }
    table
}

fn row(
    name: &str,
    window: u64,
    gradient: Option<Finite>,
    cosine: Option<Finite>,
    weights: Option<Finite>,
) -> Vec<Cell> {
    let ratio = |ratio: Option<Finite>| Cell::or_empty(ratio.map(|ratio| Cell::ratio(ratio.get())));
    vec![
        Cell::Text(name.to_owned()),
        Cell::count(window),
        ratio(gradient),
        Cell::or_empty(cosine.map(|cosine| Cell::Text(degrees(cosine.get())))),
        ratio(weights),
    ]
}

fn windows(mut all: Vec<&ReplayedWindow>) -> Table {
    let mut table = Table::new(&[
        "#window",
        "#targets",
        "outcome",
        "#gradient off",
        "#allowed",
        "#floor",
        "#weights off",
        "#mean of means off",
        "verdict",
    ]);
    let off =
        |window: &ReplayedWindow| window.gradient.as_ref().and_then(|gradient| gradient.l2).map_or(0.0, Finite::get);
    all.sort_by(|a, b| a.agrees.cmp(&b.agrees).then(off(b).total_cmp(&off(a))).then(a.window.cmp(&b.window)));
    for window in all.iter().take(SHOWN) {
        let drift = |drift: &Option<DriftReport>| {
            Cell::or_empty(drift.as_ref().and_then(|drift| drift.relative).map(|relative| Cell::ratio(relative.get())))
        };
        let relative = |l2: Option<Finite>| Cell::or_empty(relative_to(window, l2).map(Cell::ratio));
        let means = window.mean_of_means.and_then(|means| means.gradient);
        table.push(vec![
            Cell::count(window.window.get()),
            Cell::count(window.valid_targets.get()),
            Cell::Text(window.outcome.as_str().to_owned()),
            drift(&window.gradient),
            relative(window.allowed),
            relative(window.floor),
            Cell::or_empty(window.weights.relative.map(|relative| Cell::ratio(relative.get()))),
            Cell::or_empty(means.map(|means| Cell::ratio(means.get()))),
            Cell::Text(verdict(window).to_owned()),
        ]);
    }
    if all.len() > SHOWN {
        let rest = words::count((all.len() - SHOWN) as u64, "more window");
        table.left_out = Some(format!("{rest}, less far off, not shown."));
    }
    table.without_empty_columns()
}

fn verdict(window: &ReplayedWindow) -> &'static str {
    match window {
        _ if window.overflowed => "overflowed",
        _ if !window.agrees => "off",
        _ if window.held => "held",
        _ => "agrees",
    }
}

/// An L2 distance over the length of the window's reference gradient.
fn relative_to(window: &ReplayedWindow, l2: Option<Finite>) -> Option<f64> {
    let gradient = window.gradient.as_ref()?;
    let length = gradient.l2?.get() / gradient.relative?.get();
    let length = if length.is_finite() { length } else { window.gradient_norm?.reference.get() };
    Some(l2?.get() / length).filter(|relative| relative.is_finite())
}

fn or_unknown(ratio: Option<Finite>) -> String {
    ratio.map_or_else(|| "an unknown part".to_owned(), |ratio| number::ratio(ratio.get()))
}

/// The angle of a cosine, in degrees.
fn degrees(cosine: f64) -> String {
    format!("{:.1}°", libm::acos(cosine.clamp(-1.0, 1.0)).to_degrees())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn window(window: u64, relative: f64, agrees: bool) -> ReplayedWindow {
        let drift = |relative: f64| {
            json!({
                "l2": 2.0 * relative, "relative": relative, "cosine": 0.5, "maximum_absolute": relative,
                "maximum_relative": relative, "tensor": "t", "element": 3
            })
        };
        serde_json::from_value(json!({
            "window": window, "valid_targets": 9, "outcome": "applied", "agrees": agrees, "overflowed": false,
            "held": false, "rank": 0, "gradient": drift(relative), "unscaled_gradient": null, "scaled_gradient": null,
            "gradient_norm": {"run": 2.0, "reference": 4.0}, "allowed": 0.02, "floor": null,
            "weights": drift(0.001), "moments": [], "steps": {"run": 1, "reference": 1}, "learning_rate": null,
            "loss_scale": null, "ranks_apart": null, "mean_of_means": null
        }))
        .expect("a window")
    }

    #[test]
    fn windows_that_are_off_come_first_the_furthest_before_the_others() {
        let mut all = vec![window(0, 0.5, true), window(1, 0.1, false), window(2, 0.2, false)];
        all.extend((3..10).map(|index| window(index, 0.01, true)));
        let table = windows(all.iter().collect());
        let shown: Vec<Cell> = table.rows.iter().map(|row| row[0].clone()).collect();
        assert_eq!(shown, [2, 1, 0, 3, 4, 5, 6, 7].map(Cell::count));
        assert_eq!(table.left_out.as_deref(), Some("2 more windows, less far off, not shown."));
        assert_eq!(windows(all.iter().take(8).collect()).left_out, None);
    }

    #[test]
    fn a_verdict_says_what_comes_first() {
        let agrees = window(0, 0.0, true);
        let held = ReplayedWindow { held: true, ..agrees.clone() };
        let off = ReplayedWindow { agrees: false, ..held.clone() };
        let overflowed = ReplayedWindow { overflowed: true, ..off.clone() };
        assert_eq!([&agrees, &held, &off, &overflowed].map(verdict), ["agrees", "held", "off", "overflowed"]);
    }

    #[test]
    fn what_is_allowed_is_told_over_the_length_of_the_full_batchs_gradient() {
        let own = window(0, 0.5, true);
        assert_eq!(relative_to(&own, own.allowed), Some(0.01));
        let exact = window(0, 0.0, true);
        assert_eq!(relative_to(&exact, exact.allowed), Some(0.005), "with no drift its norm is what is left");
    }
}

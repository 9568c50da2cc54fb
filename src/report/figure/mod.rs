//! Pictures as SVG, with units and labels, for the HTML report.
//!
//! Invariants: every picture has a title and a description that say in words what it shows; nothing is told by colour
//! alone; the number of marks does not grow with the run, since what is too much is drawn together and the caption says so.
mod buckets;
pub mod drift;
pub mod lanes;
mod plot;
pub mod recompute;
pub mod replay;
pub mod scale;
pub mod shares;

use super::Style;
use super::layout;
use super::visible;
use maud::Markup;
use maud::PreEscaped;
use maud::html;

/// Colours and marks, for a page that holds pictures and for a picture by itself.
pub(super) const STYLE: &str = include_str!("figure.css");

/// Columns of the drawing area of every picture.
const WIDTH: f64 = 760.0;

/// A picture with what is said of it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Unique in its page.
    pub id: String,
    /// What it is.
    pub title: String,
    /// What is to be seen in it, for those who cannot see it.
    pub description: String,
    /// How to read it.
    pub caption: String,
    /// Its height, of [`WIDTH`] wide.
    height: f64,
    /// What is drawn.
    drawing: Markup,
}

impl Figure {
    /// As a file by itself, with its title above and its caption below.
    pub fn svg(&self) -> String {
        const ABOVE: f64 = 34.0;
        const LINE: f64 = 17.0;
        const COLUMNS: usize = 118;
        let caption = layout::text::paragraph(&self.caption.as_str().into(), Style::plain(COLUMNS));
        let lines: Vec<&str> = caption.lines().collect();
        let below = ABOVE + self.height + LINE;
        let height = below + LINE * lines.len() as f64;
        let drawn = html! {
            svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title description"
                viewBox={ "0 0 " (WIDTH) " " (at(height)) } width=(WIDTH) height=(at(height)) {
                title id="title" { (text(&self.title)) }
                desc id="description" { (text(&self.description)) }
                style { (PreEscaped(STYLE)) }
                rect.ground width=(WIDTH) height=(at(height)) {}
                text.title x="14" y="22" { (text(&self.title)) }
                g transform={ "translate(0 " (ABOVE) ")" } { (self.drawing) }
                @for (index, line) in lines.iter().enumerate() {
                    text.note x="14" y=(at(below + LINE * index as f64)) { (line) }
                }
            }
        };
        drawn.into_string() + "\n"
    }

    /// As a `<figure>`.
    pub fn html(&self) -> Markup {
        let (title, description) = (format!("{}-title", self.id), format!("{}-description", self.id));
        html! {
            figure id=(self.id) {
                h3 { (text(&self.title)) }
                div.picture tabindex="0" role="group" aria-label=(text(&self.title)) {
                    svg role="img" aria-labelledby={ (title) " " (description) }
                        viewBox={ "0 0 " (WIDTH) " " (self.height) } width=(WIDTH) height=(self.height) {
                        title id=(title) { (text(&self.title)) }
                        desc id=(description) { (text(&self.description)) }
                        (self.drawing)
                    }
                }
                figcaption { (text(&self.caption)) }
            }
        }
    }
}

/// Text from outside: on one line, with nothing hidden in it. Markup in it is escaped where it is set.
fn text(text: &str) -> String {
    visible::line(text)
}

/// A coordinate: a tenth of a pixel is enough.
fn at(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

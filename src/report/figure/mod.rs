//! Pictures as SVG, with units and labels, for the HTML report.
//!
//! Invariants: every picture has a title and a description that say in words what it shows; nothing is told by colour
//! alone; the number of marks does not grow with the run, since what is too much is drawn together and the caption says so.
mod buckets;
pub mod drift;
pub mod lanes;
mod plot;
pub mod replay;
pub mod scale;
pub mod shares;

use super::visible;
use maud::Markup;
use maud::html;

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

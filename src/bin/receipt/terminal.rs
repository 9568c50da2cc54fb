//! What is known of where the output goes: colour and width.
use crate::cli::Color;
use annotate_snippets::Renderer;
use anstream::ColorChoice;
use receipt::report::Style;
use std::io;

/// Columns where the output is no terminal.
pub(crate) const ELSEWHERE: usize = 100;

/// How to set text that goes to standard output.
pub(crate) fn style(color: Color) -> Style {
    let color = match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => anstream::AutoStream::choice(&io::stdout()) != ColorChoice::Never,
    };
    let width = terminal_size::terminal_size_of(io::stdout()).map_or(ELSEWHERE, |(width, _)| usize::from(width.0));
    Style { color, width }
}

/// The same for source snippets.
pub(crate) fn renderer(style: Style) -> Renderer {
    let renderer = if style.color { Renderer::styled() } else { Renderer::plain() };
    renderer.term_width(style.width)
}

//! A finding with the piece of its source, for a person.
//!
//! Invariant: nothing that a manifest holds reaches the terminal but as visible characters, and no line is shown
//! that is much longer than a terminal is wide.
use crate::finding::Code;
use crate::finding::Severity;
use crate::manifest::locate::Location;
use crate::manifest::visible::visible;
use annotate_snippets::AnnotationKind;
use annotate_snippets::Group;
use annotate_snippets::Level;
use annotate_snippets::Origin;
use annotate_snippets::Renderer;
use annotate_snippets::Snippet;
use anstream::adapter::strip_str;

/// Renders a finding; where it has no location, its message alone.
pub fn snippet(
    severity: Severity,
    code: Code,
    message: &str,
    location: Option<&Location>,
    renderer: &Renderer,
) -> String {
    let level = match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(visible(message)).id(code.as_str());
    let Some(location) = location else { return renderer.render(&[Group::with_title(title)]) };
    let line = usize::try_from(location.line).unwrap_or(usize::MAX);
    let column = usize::try_from(location.column).unwrap_or(usize::MAX);
    let origin = Origin::path(visible(&location.source.to_string())).line(line).char_column(column);
    let excerpt = &location.excerpt;
    let source = Snippet::source(&*excerpt.text)
        .line_start(line)
        .annotation(AnnotationKind::Primary.span(excerpt.highlight.clone()));
    let mut group = title.element(origin).element(source);
    if !location.pointer.is_empty() {
        group = group.element(Level::NOTE.message(format!("at {}", visible(&location.pointer))));
    }
    without_second_origin(&renderer.render(&[group]))
}

/// The column of a line that was cut can't be told from what is left of it, so the origin is an element of its own;
/// the renderer then announces the source as if it were of a second file, which has no name.
fn without_second_origin(rendered: &str) -> String {
    let is_other = |line: &&str| strip_str(line).to_string().trim() != ":::";
    rendered.lines().filter(is_other).collect::<Vec<_>>().join("\n")
}

//! Places in a rank manifest.
use crate::manifest::json;
use crate::manifest::json::Node;
use crate::manifest::json::Tree;
use crate::manifest::layout::Layout;
use crate::manifest::layout::Origin;
use crate::manifest::limits::DOCUMENT_BYTES;
use crate::manifest::locate::Excerpt;
use crate::manifest::locate::Location;
use crate::manifest::locate::Wanted;
use crate::manifest::locate::descend;
use crate::manifest::locate::told;
use crate::manifest::open::document;
use crate::manifest::read::ReadError;
use crate::manifest::read::decode;
use crate::manifest::read::lines::Lines;
use crate::manifest::read::terms::Terms;
use crate::manifest::source::SourceName;
use crate::manifest::source::Sources;
use crate::manifest::source::stored::Broken;
use crate::manifest::source::stored::Stored;
use memchr::memchr;
use memchr::memchr_iter;
use memchr::memrchr;
use std::ops::Range;

/// Finds everything that is wanted of the document.
pub(super) fn find<'a>(
    sources: &dyn Sources,
    layout: &Layout,
    name: &SourceName,
    wanted: impl Iterator<Item = (usize, Wanted<'a>)>,
    found: &mut [Option<Location>],
) -> Result<(), ReadError> {
    let failed = |source| ReadError::Source { name: name.clone(), source };
    let text = match Lines::new(Stored::open(sources, name, false).map_err(failed)?).rest(DOCUMENT_BYTES) {
        Ok(text) => text.unwrap_or_default(),
        Err(Broken::Source(error)) => return Err(failed(error.into())),
        Err(Broken::Compression { .. }) => Vec::new(),
    };
    let text = document::without_mark(text);
    let faults = document::read(&text).faults;
    let tree = json::parse_document(&text);
    for (index, wanted) in wanted {
        let pointer = pointer(layout, wanted);
        let span = told(&faults, &pointer, wanted)
            .or_else(|| in_event(&tree, &text, layout, wanted))
            .or_else(|| descend(&tree, &pointer).map(Node::span))
            .unwrap_or(0..0);
        found[index] = Some(location(name, &text, span, pointer));
    }
    Ok(())
}

/// The pointer in the document.
fn pointer(layout: &Layout, wanted: Wanted<'_>) -> String {
    let field = wanted.place.field.clone().unwrap_or_default();
    let entry = wanted.place.rank.and_then(|rank| layout.ranks.get(&rank));
    match (entry, wanted.place.event) {
        (Some(Origin::Entry(entry)), Some(event)) => format!("/ranks/{entry}/events/{event}{field}"),
        (Some(Origin::Entry(entry)), None) => format!("/ranks/{entry}{field}"),
        _ => field,
    }
}

/// The span of what is meant inside an event, which the document's tree does not look into.
fn in_event(tree: &Tree<'_>, text: &[u8], layout: &Layout, wanted: Wanted<'_>) -> Option<Range<usize>> {
    let Some(Origin::Entry(entry)) = layout.ranks.get(&wanted.place.rank?) else { return None };
    let event = tree.root()?.member("ranks")?.elements().nth(*entry)?.member("events")?;
    let whole = event.elements().nth(usize::try_from(wanted.place.event?).ok()?)?.span();
    let event = &text[whole.clone()];
    let field = wanted.place.field.as_deref().unwrap_or_default();
    let faults = decode::event(event, false, &Terms::none()).err().unwrap_or_default();
    let span = told(&faults, field, wanted).or_else(|| Some(descend(&json::parse(event), field)?.span()))?;
    Some(whole.start + span.start..whole.start + span.end)
}

fn location(name: &SourceName, text: &[u8], span: Range<usize>, pointer: String) -> Location {
    let before = &text[..span.start.min(text.len())];
    let start = memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let end = memchr(b'\n', &text[before.len()..]).map_or(text.len(), |newline| before.len() + newline);
    Location {
        source: name.clone(),
        line: 1 + memchr_iter(b'\n', before).count() as u64,
        column: 1 + String::from_utf8_lossy(&before[start..]).chars().count() as u64,
        span: span.start as u64..span.end as u64,
        pointer,
        excerpt: Excerpt::of(&text[start..end], span.start - start..span.end.max(span.start) - start),
    }
}

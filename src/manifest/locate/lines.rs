//! Places in a microbatch manifest: event i is on line i + 2.
use crate::manifest::json;
use crate::manifest::locate::Excerpt;
use crate::manifest::locate::Location;
use crate::manifest::locate::Wanted;
use crate::manifest::locate::descend;
use crate::manifest::locate::told;
use crate::manifest::open::header;
use crate::manifest::read::ReadError;
use crate::manifest::read::decode;
use crate::manifest::read::lines::Lines;
use crate::manifest::read::lines::Piece;
use crate::manifest::read::terms::Terms;
use crate::manifest::source::SourceName;
use crate::manifest::source::Sources;
use crate::manifest::source::stored::Broken;
use crate::manifest::source::stored::Stored;
use std::collections::BTreeMap;
use std::ops::Range;

/// How much is read at once.
const BLOCK: usize = 1 << 18;

/// Finds everything that is wanted of one source.
pub(super) fn find<'a>(
    sources: &dyn Sources,
    name: &SourceName,
    wanted: impl Iterator<Item = (usize, Wanted<'a>)>,
    found: &mut [Option<Location>],
) -> Result<(), ReadError> {
    let mut by_line: BTreeMap<u64, Vec<(usize, Wanted<'a>)>> = BTreeMap::new();
    for (index, wanted) in wanted {
        by_line.entry(wanted.place.event.map_or(0, |event| event + 1)).or_default().push((index, wanted));
    }
    let failed = |source| ReadError::Source { name: name.clone(), source };
    let mut lines = Lines::new(Stored::open(sources, name, false).map_err(failed)?);
    let (mut number, mut offset) = (0, 0);
    let mut show = |number: u64, offset: u64, line: &[u8], is_last: bool| {
        for &(index, wanted) in by_line.get(&number).into_iter().flatten() {
            found[index] = Some(location(name, number, offset, line, is_last, wanted));
        }
    };
    loop {
        match lines.next(BLOCK) {
            Ok(Some(Piece::Lines(text))) => {
                for line in text.split_inclusive(|&byte| byte == b'\n') {
                    let bare = line.strip_suffix(b"\n").unwrap_or(line);
                    show(number, offset, bare, bare.len() == line.len());
                    (number, offset) = (number + 1, offset + line.len() as u64);
                }
            }
            Ok(Some(Piece::Overlong { start, length })) => {
                show(number, offset, &start, false);
                (number, offset) = (number + 1, offset + length);
            }
            // A fault of what comes after the last line: of the compression, say.
            Ok(None) | Err(Broken::Compression { .. }) => {
                show(number, offset, b"", false);
                return Ok(());
            }
            Err(Broken::Source(error)) => return Err(failed(error.into())),
        }
    }
}

fn location(name: &SourceName, number: u64, offset: u64, line: &[u8], is_last: bool, wanted: Wanted<'_>) -> Location {
    let pointer = wanted.place.field.as_deref().unwrap_or_default();
    let span = span(number, line, is_last, pointer, wanted);
    let column = 1 + String::from_utf8_lossy(&line[..span.start]).chars().count() as u64;
    Location {
        source: name.clone(),
        line: number + 1,
        column,
        span: offset + span.start as u64..offset + span.end as u64,
        pointer: pointer.to_owned(),
        excerpt: Excerpt::of(line, span),
    }
}

fn span(number: u64, line: &[u8], is_last: bool, pointer: &str, wanted: Wanted<'_>) -> Range<usize> {
    let faults = match number {
        0 => header::read(line).faults,
        _ => decode::event(line, is_last, &Terms::none()).err().unwrap_or_default(),
    };
    told(&faults, pointer, wanted)
        .or_else(|| Some(descend(&json::parse(line), pointer)?.span()))
        .unwrap_or(0..line.len())
}

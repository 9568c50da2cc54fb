//! Many windows drawn together, so that a picture does not grow with its run.

/// Columns of marks at most.
const COLUMNS: usize = 240;

/// How many of so many entries share a column.
pub(super) fn size(entries: usize) -> usize {
    entries.div_ceil(COLUMNS).max(1)
}

/// What a caption says where a mark is more than one window's; empty where it is not.
pub(super) fn said(size: usize) -> String {
    if size > 1 { format!(" Each mark is the worst of {size} windows in a row.") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_bounded() {
        for entries in [0_usize, 1, 239, 240, 241, 100_000, 10_000_000] {
            assert!(entries.div_ceil(size(entries)) <= COLUMNS, "{entries}");
        }
        assert_eq!((size(0), size(240), size(241)), (1, 1, 2));
        assert_eq!(said(1), "");
    }
}

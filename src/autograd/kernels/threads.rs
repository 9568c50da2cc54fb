//! Threads over rows of an output, never over a summed axis: who computes a row changes no bit of it.

/// Multiplications below which starting a thread (some 20 µs) costs more than it saves.
pub(super) const WORTHWHILE: usize = 1 << 20;

/// Calls `compute(first_row, rows)` for consecutive groups of rows of `out` that together are all of it: on one
/// thread where `work` (multiplications in all) is small, else on as many as asked for.
///
/// # Panics
/// Where `out` is no whole number of rows, which is a bug of the caller.
pub(in crate::autograd) fn over_rows(
    threads: usize,
    work: usize,
    out: &mut [f64],
    row_len: usize,
    compute: impl Fn(usize, &mut [f64]) + Sync,
) {
    let rows = out.len().checked_div(row_len).unwrap_or(0);
    assert_eq!(rows * row_len, out.len(), "bug: {} elements in rows of {row_len}", out.len());
    let groups = threads.min(rows).min(1 + work / WORTHWHILE).max(1);
    if groups == 1 {
        compute(0, out);
        return;
    }
    // Whole tiles of 4 rows to each group, so that no group has a ragged end but the last.
    let size = rows.div_ceil(groups).next_multiple_of(4);
    std::thread::scope(|scope| {
        let compute = &compute;
        let mut chunks = out.chunks_mut(size * row_len).enumerate();
        let own = chunks.next();
        for (group, chunk) in chunks {
            scope.spawn(move || compute(group * size, chunk));
        }
        if let Some((_, chunk)) = own {
            compute(0, chunk);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_computed_once() {
        for (threads, work) in [(1, usize::MAX), (2, 0), (2, usize::MAX), (3, usize::MAX), (64, usize::MAX)] {
            for rows in [0, 1, 4, 7, 33] {
                let mut out = vec![0.0; rows * 2];
                over_rows(threads, work, &mut out, 2, |first, chunk| {
                    for (row, pair) in chunk.chunks_mut(2).enumerate() {
                        pair.iter_mut().for_each(|x| *x += (first + row) as f64 + 1.0);
                    }
                });
                let want: Vec<f64> = (0..rows).flat_map(|row| [row as f64 + 1.0; 2]).collect();
                assert_eq!(out, want, "{threads} threads, {rows} rows");
            }
        }
    }
}

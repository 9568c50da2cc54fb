//! Reversing a chain with few snapshots and the fewest step runs: the binomial schedule.
//!
//! Tape model: a step must be run on the tape to be reversed. With s snapshots, the chain's input included, the least
//! total of runs without tape (advances) and on it (one for each step) is T(n, s) = n + r·n − C(s + r, s + 1), r being the
//! least with C(s + r, s) ≥ n. Source: Griewank and Walther, *Algorithm 799: revolve*, ACM TOMS 26 (2000), eq. 3, where
//! advances alone are counted; the first sweep is among them.

/// C(n, k), or `u128::MAX` where it is greater.
fn binomial(n: u128, k: u128) -> u128 {
    let k = k.min(n - k);
    let mut product = 1_u128;
    for i in 0..k {
        // The quotient is C(n, i + 1): whole.
        match product.checked_mul(n - i) {
            Some(multiplied) => product = multiplied / (i + 1),
            None => return u128::MAX,
        }
    }
    product
}

/// The least r with C(s + r, s) ≥ n: the most often that any step is advanced over.
///
/// # Panics
/// Where there is no snapshot, which is a bug of the caller.
#[must_use]
pub fn repetitions(steps: u64, snapshots: u64) -> u64 {
    assert!(snapshots > 0, "bug: no snapshot, not even of the input");
    let mut repetitions = 0;
    while binomial(u128::from(snapshots) + u128::from(repetitions), u128::from(snapshots)) < u128::from(steps) {
        repetitions += 1;
    }
    repetitions
}

/// T(n, s): the fewest step runs that reverse `steps` steps with `snapshots` snapshots, the input included.
///
/// # Panics
/// Where there is no snapshot, which is a bug of the caller.
#[must_use]
pub fn runs(steps: u64, snapshots: u64) -> u64 {
    if steps == 0 {
        return 0;
    }
    let repetitions = repetitions(steps, snapshots);
    let (n, r, s) = (u128::from(steps), u128::from(repetitions), u128::from(snapshots));
    let saved = if r == 0 { 0 } else { binomial(s + r, s + 1) };
    u64::try_from(n + r * n - saved).expect("bug: more than 2^64 step runs")
}

/// How far to advance from a chain's input before the next snapshot: the longest of the optimal ways. With one snapshot,
/// up to the last step.
///
/// # Panics
/// Where there are fewer than two steps or no snapshot, which is a bug of the caller.
#[must_use]
pub fn split(steps: u64, snapshots: u64) -> u64 {
    assert!(steps > 1, "bug: a chain of {steps} steps has no split");
    if snapshots == 1 {
        return steps - 1;
    }
    let cost = |advance: u64| advance + runs(steps - advance, snapshots - 1) + runs(advance, snapshots);
    let optimum = runs(steps, snapshots);
    (1..steps).rev().find(|&advance| cost(advance) == optimum).expect("bug: no split is optimal")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T(n, s) from its definition: advance somewhere, reverse what is after it with a snapshot fewer, then what is before.
    fn by_recurrence(most: usize) -> Vec<Vec<u64>> {
        let mut table = vec![vec![0_u64; most + 1]; most + 1];
        for s in 1..=most {
            table[s][1] = 1;
            for n in 2..=most {
                let alone = (n * (n + 1) / 2) as u64;
                let with_split = |m: usize| m as u64 + table[s - 1][n - m] + table[s][m];
                table[s][n] = if s == 1 { alone } else { (1..n).map(with_split).min().unwrap() };
            }
        }
        table
    }

    #[test]
    fn the_formula_is_the_recurrence() {
        for (s, row) in by_recurrence(120).iter().enumerate().skip(1) {
            for (n, total) in row.iter().enumerate().skip(1) {
                assert_eq!(runs(n as u64, s as u64), *total, "T({n}, {s})");
            }
        }
    }

    #[test]
    fn known_totals() {
        assert_eq!([runs(10, 3), runs(24, 4), runs(64, 8), runs(100, 5)], [25, 75, 201, 416]);
        assert_eq!((runs(0, 1), runs(1, 5), runs(3, 3)), (0, 1, 5));
    }

    #[test]
    fn large_chains_do_not_overflow() {
        assert_eq!(runs(1 << 20, 1 << 40), (2 << 20) - 1, "more snapshots than steps");
        assert_eq!(binomial(200, 100), u128::MAX);
        assert!(runs(1 << 20, 3) > 1 << 20);
    }

    #[test]
    fn one_snapshot_goes_up_to_the_last_step() {
        assert_eq!((split(7, 1), split(2, 3)), (6, 1));
    }
}

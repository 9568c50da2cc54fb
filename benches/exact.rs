//! What exactness costs: nanoseconds a term of the exact sum, beside a plain sum of the same terms in the same run.
//!
//! `cargo bench --bench exact`. The table is divan's; the last lines are the ratio of the fastest of interleaved
//! rounds, which says more on a shared machine than either time.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use receipt::numeric::exact::ExactSum;

fn main() {
    divan::main();
    if !std::env::args().any(|argument| argument == "--test" || argument == "--list") {
        ratios();
    }
}

const TERMS: usize = 4096;

/// Loss sums of ordinary microbatches: positive, of similar size.
fn losses() -> Vec<f64> {
    (0..TERMS as u64).map(|index| 1e3 * fraction(index)).collect()
}

/// Gradients: both signs, sizes over some 2^20.
fn gradients() -> Vec<f64> {
    (0..TERMS as u64).map(|index| (fraction(index) - 0.5) / (1_u64 << (index % 20)) as f64).collect()
}

/// A number in 0 .. 1 without a pattern: SplitMix64's output function.
fn fraction(index: u64) -> f64 {
    let mut word = (index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (word >> 11) as f64 / (1_u64 << 53) as f64
}

fn naive(terms: &[f64]) -> f64 {
    terms.iter().sum()
}

fn exact(terms: &[f64]) -> f64 {
    terms.iter().copied().collect::<ExactSum>().to_f64()
}

fn naive_products(terms: &[f64]) -> f64 {
    terms.iter().zip(terms.iter().rev()).map(|(left, right)| left * right).sum()
}

fn exact_products(terms: &[f64]) -> f64 {
    let mut sum = ExactSum::new();
    for (&left, &right) in terms.iter().zip(terms.iter().rev()) {
        sum.add_product(left, right);
    }
    sum.to_f64()
}

#[divan::bench(args = ["naive", "exact", "naive products", "exact products"])]
fn sum_of_losses(bencher: Bencher<'_, '_>, how: &str) {
    bench(bencher, how, &losses());
}

#[divan::bench(args = ["naive", "exact", "naive products", "exact products"])]
fn sum_of_gradients(bencher: Bencher<'_, '_>, how: &str) {
    bench(bencher, how, &gradients());
}

fn bench(bencher: Bencher<'_, '_>, how: &str, terms: &[f64]) {
    let sum = match how {
        "naive" => naive,
        "exact" => exact,
        "naive products" => naive_products,
        _ => exact_products,
    };
    bencher.counter(ItemsCount::new(terms.len())).bench_local(|| sum(black_box(terms)));
}

/// A window's worth: a fresh sum, a few terms, one quotient.
#[divan::bench(args = [1, 4, 16, 64])]
fn fresh_window(bencher: Bencher<'_, '_>, microbatches: usize) {
    let losses = losses();
    bencher
        .counter(ItemsCount::new(microbatches))
        .bench_local(|| black_box(&losses)[..microbatches].iter().copied().collect::<ExactSum>().over(1000));
}

#[divan::bench]
fn merge_of_two_windows(bencher: Bencher<'_, '_>) {
    let part: ExactSum = losses().into_iter().collect();
    let mut total = ExactSum::new();
    bencher.bench_local(|| total.merge(black_box(&part)));
}

#[expect(clippy::print_stdout, reason = "a benchmark reports")]
fn ratios() {
    for (name, terms) in [("losses", losses()), ("gradients", gradients())] {
        for (kind, naive, exact) in [
            ("sum", naive as fn(&[f64]) -> f64, exact as fn(&[f64]) -> f64),
            ("products", naive_products, exact_products),
        ] {
            let (mut least_naive, mut least_exact) = (f64::INFINITY, f64::INFINITY);
            for _ in 0..2000 {
                least_naive = least_naive.min(nanoseconds(naive, &terms));
                least_exact = least_exact.min(nanoseconds(exact, &terms));
            }
            let ratio = least_exact / least_naive;
            println!("{name} {kind}: exact {least_exact:.2} ns, naive {least_naive:.2} ns a term: {ratio:.1} times");
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time; none reaches a receipt")]
fn nanoseconds(sum: fn(&[f64]) -> f64, terms: &[f64]) -> f64 {
    let start = std::time::Instant::now();
    black_box(sum(black_box(terms)));
    start.elapsed().as_nanos() as f64 / terms.len() as f64
}

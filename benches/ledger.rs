//! What ledger and diagnosis cost for each microbatch, in nanoseconds: `cargo bench --bench ledger`.
//!
//! Windows of 8 microbatches on one rank, as a loop records them that logs losses and backward losses. `packed`: the
//! same targets in every microbatch, so that many recipes stay open to the end.
use receipt::ledger::Counterexample;
use receipt::ledger::Diagnosis;
use receipt::ledger::EvidenceTotals;
use receipt::ledger::Ledger;
use receipt::ledger::RunTotals;
use receipt::manifest::contract::Contract;
use receipt::manifest::event::Event;
use receipt::manifest::window::Indexed;
use receipt::manifest::window::RankWindow;
use receipt::manifest::window::Window;
use serde_json::Value;
use serde_json::json;
use std::hint::black_box;

/// Few enough to stay in cache, as a window does that was just read; they are gone through again and again.
const WINDOWS: u64 = 100;
const ROUNDS: u64 = 100;
const MICROBATCHES: u64 = 8;

fn main() {
    divan::main();
}

fn contract() -> Contract {
    let contract: Contract = serde_json::from_value(json!({
        "formula": "token-mean/1", "accumulation_steps": MICROBATCHES, "world_size": 1, "tail": "flush",
        "tolerance": {"absolute": 1e-6, "relative": 1e-5}, "precision": "float32",
    }))
    .expect("a contract");
    contract.with_defaults()
}

fn windows(targets: impl Fn(u64) -> u64, counts: bool) -> Vec<Window> {
    let window = |window: u64| {
        let n = |index: u64| targets(window * MICROBATCHES + index);
        let total: u64 = (0..MICROBATCHES).map(n).sum();
        let mut events: Vec<Value> = (0..MICROBATCHES)
            .map(|index| {
                let loss = n(index) as f64 * (2.0 + (index as f64) / 7.0);
                let mut fields = json!({
                    "window": window, "microbatch": format!("w{window}-m{index}"), "valid_targets": n(index),
                    "loss_sum": loss, "backward_loss": f64::from((loss / total as f64) as f32),
                });
                if counts {
                    fields["rows"] = json!(2);
                    fields["slots"] = json!(n(index) + 30);
                    fields["unshifted_targets"] = json!(n(index) + 1);
                }
                json!({"backward": fields})
            })
            .collect();
        events.push(json!({"logged": {"window": window, "denominator": total}}));
        events.push(json!({"optimizer_step": {"window": window, "outcome": "applied", "learning_rate": 0.1}}));
        events.push(json!("zero_grad"));
        let event = |event| -> Event { serde_json::from_value(event).expect("an event") };
        let indexed = |(index, value): (usize, Value)| Indexed { index: index as u64, event: event(value) };
        let events = events.into_iter().enumerate().map(indexed).collect();
        let ranks = vec![RankWindow { rank: 0, events, ..RankWindow::default() }];
        Window { window, ranks, is_last: false }
    };
    (0..WINDOWS).map(window).collect()
}

/// Runs the whole fold; the time shown for an item is that of one microbatch.
fn fold(bencher: divan::Bencher<'_, '_>, windows: &[Window]) {
    let contract = contract();
    bencher.counter(divan::counter::ItemsCount::new(ROUNDS * WINDOWS * MICROBATCHES)).bench_local(|| {
        let (mut ledger, mut diagnosis) = (Ledger::new(&contract, None), Diagnosis::new(&contract));
        let mut totals = RunTotals::default();
        let mut evidence = EvidenceTotals::default();
        let mut counterexample = Counterexample::default();
        for window in (0..ROUNDS).flat_map(|_| windows) {
            let tallied = ledger.tally(black_box(window));
            totals.add(&tallied);
            evidence.add(&tallied);
            counterexample.add(&tallied);
            diagnosis.observe(window, &tallied, tallied.stepped_or_skipped());
        }
        black_box((totals, evidence, counterexample, diagnosis.finish()))
    });
}

#[divan::bench]
fn unequal(bencher: divan::Bencher<'_, '_>) {
    fold(bencher, &windows(|index| 100 + index * 2_654_435_761 % 700, false));
}

#[divan::bench]
fn unequal_with_counts(bencher: divan::Bencher<'_, '_>) {
    fold(bencher, &windows(|index| 100 + index * 2_654_435_761 % 700, true));
}

#[divan::bench]
fn packed(bencher: divan::Bencher<'_, '_>) {
    fold(bencher, &windows(|_| 2_048, true));
}

#[divan::bench]
fn packed_tally_alone(bencher: divan::Bencher<'_, '_>) {
    let (contract, windows) = (contract(), windows(|_| 2_048, true));
    bencher.counter(divan::counter::ItemsCount::new(ROUNDS * WINDOWS * MICROBATCHES)).bench_local(|| {
        let mut ledger = Ledger::new(&contract, None);
        for window in (0..ROUNDS).flat_map(|_| &windows) {
            black_box(ledger.tally(black_box(window)));
        }
    });
}

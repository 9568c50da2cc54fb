//! Receipts made by hand, for tests.
use crate::canonical::Count;
use crate::canonical::Finite;
use crate::clock::Counts;
use crate::finding::Code;
use crate::finding::Place;
use crate::ledger::counterexample::CounterexampleReport;
use crate::ledger::diagnosis::DiagnosisReport;
use crate::ledger::evidence::Presence;
use crate::manifest::contract::Contract;
use crate::manifest::contract::Evidence;
use crate::manifest::event::Outcome;
use crate::manifest::identifier::Identifier;
use crate::numeric::quotient;
use crate::numeric::rounding::Explanation;
use crate::receipt::document::Deltas;
use crate::receipt::document::Detail;
use crate::receipt::document::FindingReport;
use crate::receipt::document::Input;
use crate::receipt::document::MeanOfMeansReport;
use crate::receipt::document::MicrobatchReport;
use crate::receipt::document::Options;
use crate::receipt::document::Receipt;
use crate::receipt::document::ReceiptSchema;
use crate::receipt::document::Tool;
use crate::receipt::document::Totals;
use crate::receipt::document::Verdict;
use crate::receipt::document::View;
use crate::receipt::document::WindowReport;
use serde_json::json;

pub(super) fn count(value: u64) -> Count {
    Count::new(value).expect("a count")
}

pub(super) fn finite(value: f64) -> Finite {
    Finite::new(value).expect("a finite number")
}

/// A microbatch: n, loss sum, and the weight seen over the declared one.
pub(super) type Made = (u64, f64, f64);

/// The 3/6/1 window as it should be.
pub(super) const RIGHT: [Made; 3] = [(3, 1.2, 1.0), (6, 4.8, 1.0), (1, 0.4, 1.0)];

/// The same by a mean of means: N/(k·n).
pub(super) const MEAN_OF_MEANS: [Made; 3] = [(3, 1.2, 10.0 / 9.0), (6, 4.8, 10.0 / 18.0), (1, 0.4, 10.0 / 3.0)];

/// A finding as a rule reports it once.
pub(super) fn finding(code: Code, place: Place, message: &str) -> FindingReport {
    FindingReport {
        code,
        name: code.name().to_owned(),
        severity: code.severity(),
        message: message.to_owned(),
        windows: place.window.map(count).into_iter().collect(),
        place,
        count: count(1),
        caused_by: None,
    }
}

/// A receipt of windows on one rank, verified; tests change what they are about.
pub(super) fn receipt(windows: &[&[Made]]) -> Receipt {
    let contract: Contract = serde_json::from_value(json!({
        "formula": "token-mean/1", "accumulation_steps": 3, "world_size": 1, "tail": "flush",
        "tolerance": {"absolute": 1e-9, "relative": 1e-9}, "precision": "float64",
    }))
    .expect("a contract");
    let reports: Vec<WindowReport> =
        windows.iter().enumerate().map(|(index, made)| window(index as u64, made)).collect();
    let all = || windows.iter().flat_map(|made| made.iter());
    Receipt {
        schema: ReceiptSchema::V1,
        formula: Some("token-mean/1".to_owned()),
        tool: Tool { name: "accumulation-receipt".to_owned(), version: "0.1.0".to_owned() },
        input: Input::default(),
        options: Options {
            detail: Detail::Full,
            replay: false,
            replay_targets: count(200_000),
            partial: false,
            previous: None,
        },
        eligible: true,
        verdict: Verdict::Verified,
        contract: Some(contract.with_defaults()),
        totals: Some(Totals {
            windows: count(windows.len() as u64),
            microbatches: count(all().count() as u64),
            valid_targets: count(all().map(|made| made.0).sum()),
            loss_sum: finite(all().map(|made| made.1).sum()),
            updates_applied: count(windows.len() as u64),
            updates_skipped: count(0),
            superseded: count(0),
        }),
        evidence: Some(
            Evidence::ALL
                .iter()
                .map(|&kind| {
                    let extent = if kind == Evidence::Weights { Presence::All } else { Presence::None };
                    (kind, extent)
                })
                .collect(),
        ),
        windows: Some(reports),
        microbatches: Some(
            windows.iter().enumerate().flat_map(|(index, made)| microbatches(index as u64, made)).collect(),
        ),
        carried: None,
        counterexample: windows.first().map(|made| counterexample(made)),
        diagnosis: Some(DiagnosisReport {
            recipes: vec!["token-mean".to_owned()],
            text: "token-mean explains every backward loss".to_owned(),
            ..DiagnosisReport::default()
        }),
        replay: None,
        findings: vec![],
        limitations: vec!["Nothing was replayed.".to_owned()],
        receipt_sha256: None,
    }
}

/// The same violated by a mean of means.
pub(super) fn violated(windows: &[&[Made]]) -> Receipt {
    let mut receipt = receipt(windows);
    receipt.verdict = Verdict::Violated;
    let place = Place::event(0, 3).in_window(0).at("/backward/backward_loss");
    let message = "weight 0.3333333333333333 where token-mean/1 gives 0.1, a factor of 3.333";
    let mut weights = finding(Code::GA203, place, message);
    weights.windows = (0..windows.len().min(16) as u64).map(count).collect();
    weights.count = count(windows.len() as u64);
    let mut loss =
        finding(Code::GA201, Place::event(0, 5).in_window(0).at("/logged/loss"), "logged loss 0.5333333333333333");
    loss.caused_by = Some(Code::GA203);
    receipt.findings = vec![weights, loss];
    receipt.diagnosis = Some(DiagnosisReport {
        recipes: vec!["mean-of-means".to_owned()],
        text: "mean-of-means explains every backward loss".to_owned(),
        ..DiagnosisReport::default()
    });
    receipt
}

/// A manifest in which nothing could be judged.
pub(super) fn rejected(findings: Vec<FindingReport>) -> Receipt {
    Receipt {
        formula: None,
        eligible: false,
        verdict: Verdict::Rejected,
        contract: None,
        totals: None,
        evidence: None,
        windows: None,
        microbatches: None,
        counterexample: None,
        diagnosis: None,
        findings,
        ..receipt(&[&RIGHT])
    }
}

fn window(index: u64, made: &[Made]) -> WindowReport {
    let targets: u64 = made.iter().map(|made| made.0).sum();
    let sum: f64 = made.iter().map(|made| made.1).sum();
    let loss = quotient::mean(sum, targets);
    let accumulated: f64 = made.iter().map(|(_, sum, ratio)| sum * ratio / targets as f64).sum();
    let of_means = quotient::mean_of_means(made.iter().map(|&(n, sum, _)| (sum, n))).expect("targets");
    let off = made.iter().filter(|made| made.2 != 1.0).count() as u64;
    let worst = made.iter().map(|made| (made.2 - 1.0).abs()).fold(0.0, f64::max);
    WindowReport {
        window: count(index),
        microbatches: count(made.len() as u64),
        valid_targets: count(targets),
        loss_sum: Some(finite(sum)),
        loss: Some(finite(loss)),
        gradient: None,
        full_batch: View { loss: Some(finite(loss)), gradient: None },
        accumulated: View { loss: Some(finite(accumulated)), gradient: None },
        mean_of_means: MeanOfMeansReport {
            loss: Some(finite(of_means)),
            gradient: None,
            absolute_drift: Some(finite((of_means - loss).abs())),
            relative_drift: Some(finite((of_means - loss).abs() / loss)),
        },
        clock: Counts { backward: made.len() as u64, optimizer_step: 1, zero_grad: 1, ..Counts::default() },
        clock_by_rank: None,
        update_index: Some(count(index)),
        outcome: Some(Outcome::Applied),
        tail: None,
        logged: vec![],
        deltas: (off > 0).then(|| Deltas {
            weights_off: count(off),
            weights_compared: count(made.len() as u64),
            worst_weight: Some(finite(worst)),
            one_factor: None,
            explanation: Some(Explanation::DifferentObjective),
        }),
        agrees: off == 0,
    }
}

fn microbatches(window: u64, made: &[Made]) -> Vec<MicrobatchReport> {
    let targets: u64 = made.iter().map(|made| made.0).sum();
    let report = |(index, &(n, sum, ratio)): (usize, &Made)| MicrobatchReport {
        microbatch: Identifier::new(&format!("w{window}-m{index}")).expect("an identifier"),
        window: count(window),
        rank: count(0),
        backward_index: count(index as u64),
        valid_targets: count(n),
        loss_sum: Some(finite(sum)),
        weight_declared: Some(finite(1.0 / targets as f64)),
        weight_seen: Some(finite(ratio / targets as f64)),
        sync: None,
        gradient_sum: None,
    };
    made.iter().enumerate().map(report).collect()
}

fn counterexample(made: &[Made]) -> CounterexampleReport {
    let report = window(0, made);
    let drift = report.mean_of_means;
    CounterexampleReport {
        window: Some(count(0)),
        valid_targets: made.iter().map(|made| count(made.0)).collect(),
        loss_sums: made.iter().map(|made| finite(made.1)).collect(),
        loss: report.loss.expect("a loss"),
        mean_of_means: drift.loss.expect("a loss"),
        absolute_drift: drift.absolute_drift.expect("a drift"),
        relative_drift: drift.relative_drift,
    }
}

//! From what was judged to the document: windows one by one, then the whole.
use super::carried;
use super::document::{
    Detail, FindingReport, Input, MicrobatchReport, Options, Receipt, ReceiptSchema, Tool, Totals, Verdict,
    WindowReport,
};
use super::limitations;
use super::number::count;
use super::window::{microbatch_report, window_report};
use crate::finding::{self, Code, Folded, Severity};
use crate::judge::{Facts, Judgement};
use crate::ledger::totals::TotalsReport;
use crate::manifest::contract::Contract;
use crate::manifest::resume::ResumedRank;
use crate::rules::Judged;

/// Collects what a receipt holds of each window.
#[derive(Debug)]
pub struct Builder {
    detail: Detail,
    windows: Vec<WindowReport>,
    microbatches: Vec<MicrobatchReport>,
    carried: Option<(u64, Vec<ResumedRank>)>,
}

impl Builder {
    /// For a receipt of this detail.
    pub fn new(detail: Detail) -> Self {
        Builder { detail, windows: vec![], microbatches: vec![], carried: None }
    }

    /// Takes in the next judged window; `agrees` says that no rule found an error in it.
    pub fn window(&mut self, judged: &Judged<'_>, agrees: bool) {
        if let Some(ranks) = carried::ranks(judged) {
            self.carried = Some((judged.window.window, ranks));
        }
        if self.detail >= Detail::Windows {
            self.windows.push(window_report(judged, agrees));
        }
        if self.detail == Detail::Full {
            self.microbatches.extend(judged.ledger.microbatches.iter().filter_map(|m| microbatch_report(judged, m)));
        }
    }

    /// The receipt of a run that was read to its end, not yet sealed.
    pub fn receipt(
        self,
        input: Input,
        options: Options,
        contract: Option<&Contract>,
        judgement: &Judgement,
    ) -> Receipt {
        let findings = findings(judgement);
        let blank = Receipt {
            schema: ReceiptSchema::V1,
            formula: contract.map(|contract| contract.formula.as_str().to_owned()),
            tool: Tool { name: env!("CARGO_PKG_NAME").to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
            input,
            options,
            eligible: false,
            verdict: Verdict::Rejected,
            contract: None,
            totals: None,
            evidence: None,
            windows: None,
            microbatches: None,
            carried: None,
            counterexample: None,
            diagnosis: None,
            replay: None,
            findings,
            limitations: limitations::of_rejected(),
            receipt_sha256: None,
        };
        match (judgement.facts(), contract) {
            (Some(facts), Some(contract)) => self.judged(blank, contract, facts),
            _ => blank,
        }
    }

    fn judged(self, blank: Receipt, contract: &Contract, facts: &Facts) -> Receipt {
        let violated = blank.findings.iter().any(|finding| finding.severity == Severity::Error);
        let totals = totals(facts);
        Receipt {
            eligible: true,
            verdict: if violated { Verdict::Violated } else { Verdict::Verified },
            contract: Some(contract.clone()),
            limitations: limitations::of(contract, &totals, facts, blank.options.partial),
            totals: Some(totals),
            evidence: Some(facts.evidence.clone()),
            windows: (self.detail >= Detail::Windows).then_some(self.windows),
            microbatches: (self.detail == Detail::Full).then_some(self.microbatches),
            carried: self.carried.map(|(window, ranks)| carried::carried(window, ranks, &facts.clocks)),
            counterexample: Some(facts.counterexample.clone()),
            diagnosis: Some(facts.diagnosis.clone()),
            replay: facts.replay.clone(),
            ..blank
        }
    }
}

fn totals(facts: &Facts) -> Totals {
    let TotalsReport { windows, microbatches, valid_targets, loss_sum } = facts.totals;
    Totals {
        windows,
        microbatches,
        valid_targets,
        loss_sum,
        updates_applied: count(facts.updates_applied),
        updates_skipped: count(facts.updates_skipped),
        superseded: count(facts.superseded),
    }
}

fn findings(judgement: &Judgement) -> Vec<FindingReport> {
    let ordered = finding::in_order(judgement.findings().clone().into_folded());
    ordered.into_iter().map(|(folded, cause)| report(folded, cause)).collect()
}

fn report(folded: Folded, caused_by: Option<Code>) -> FindingReport {
    FindingReport {
        code: folded.code,
        name: folded.code.name().to_owned(),
        severity: folded.severity,
        message: folded.message,
        place: folded.place,
        windows: folded.windows.into_iter().map(count).collect(),
        count: count(folded.count),
        caused_by,
    }
}

//! The fold over windows: exact totals, weights, and what was claimed against them.
//!
//! Invariant: a window's numbers depend on its records and on the windows before it, never on how ranks or microbatches
//! were ordered in a file. Memory does not grow with windows but for the losses that `logged.windows` can ask for.
use super::accumulator::BufferState;
use super::base::Base;
use super::base::WindowCounts;
use super::claim;
use super::drift;
use super::evidence::Coverage;
use super::evidence::WindowEvidence;
use super::evidence::lacks_count;
use super::gradient::Gradients;
use super::gradient::Numerators;
use super::history::History;
use super::microbatch::Microbatch;
use super::microbatch::Source;
use super::norm;
use super::rescale::Rescales;
use super::scan::Scan;
use super::weights::WeightTolerance;
use super::weights::Weights;
use super::window::MeanOfMeans;
use super::window::WindowLedger;
use crate::canonical::Count;
use crate::manifest::contract::Contract;
use crate::manifest::event::Logged;
use crate::manifest::resume::Resume;
use crate::manifest::resume::ResumedMicrobatch;
use crate::manifest::window::RankWindow;
use crate::manifest::window::Window;
use crate::numeric::exact::ExactSum;
use crate::numeric::tolerance::Tolerance;

/// Tallies windows, in order.
pub struct Ledger {
    contract: Contract,
    base: Base,
    tolerance: Tolerance,
    resume: Option<Resume>,
    history: History,
    buffers: Vec<BufferState>,
    coverage: Coverage,
    /// Windows before the latest restore that no logged loss covered.
    lost: Option<(u64, u64)>,
    rate_was_set: bool,
    /// Kept only for its memory.
    means: ExactSum,
}

impl Ledger {
    /// A ledger for a run under a contract, continuing a carried window where there is one.
    pub fn new(contract: &Contract, resume: Option<&Resume>) -> Self {
        let declared = contract.tolerance;
        let tolerance = Tolerance::new(declared.absolute.get(), declared.relative.get());
        Ledger {
            contract: contract.clone(),
            base: Base::of(contract.formula),
            // A contract with a negative tolerance is refused before (GA118); nothing is tolerated then.
            tolerance: tolerance.unwrap_or_else(|| Tolerance::new(0.0, 0.0).expect("bug: 0 is a tolerance")),
            resume: resume.cloned(),
            history: History::default(),
            buffers: Vec::new(),
            coverage: Coverage::default(),
            lost: None,
            rate_was_set: resume.is_some_and(|resume| resume.learning_rate.is_some()),
            means: ExactSum::new(),
        }
    }

    /// What the next window's numbers come to.
    pub fn tally(&mut self, window: &Window) -> WindowLedger {
        if window.ranks.iter().any(|rank| rank.restore.is_some()) {
            self.history.forget();
            // What was not covered before a restore is not covered by what is logged after it.
            self.lost = self.coverage.close();
        }
        if self.buffers.len() != window.ranks.len() {
            let initial = BufferState::initial(&self.contract, self.resume.as_ref());
            self.buffers.resize(window.ranks.len(), initial);
        }
        let scan = Scan::of(window);
        let mut ledger = self.begin(window, scan);
        self.weigh(&mut ledger);
        self.history.push(&ledger);
        if scan.has_gradients || ledger.is_resumed {
            ledger.gradients = Gradients::of(window, &ledger, self.base == Base::TokenMean);
            let is_whole = ledger.nonfinite == 0 && ledger.counts.valid_targets > 0;
            // Every microbatch has a numerator, and still there is no gradient: a sum of them is beyond binary64.
            ledger.overflowed |= is_whole && ledger.gradients.is_none() && Numerators::of(window, &ledger).is_some();
        }
        if ledger.stepped_or_skipped() {
            if scan.has_logs {
                ledger.claims = claim::claims(&self.contract, self.tolerance, window, &ledger, &self.history);
            }
            if scan.has_clip {
                ledger.clips = norm::clips(&self.contract, self.tolerance, window, &ledger);
            }
            ledger.drift = drift::drift(&self.contract, self.tolerance, window, &ledger);
        }
        self.witness(window, scan, &mut ledger);
        // Without a basis there is no vector (GA109), and nobody asks for the buffers.
        if self.contract.gradient_basis.is_some() {
            for (state, rank) in self.buffers.iter_mut().zip(&window.ranks) {
                *state = state.after(rank, &self.contract);
            }
        }
        ledger
    }

    /// The window's microbatches and counts, nothing computed yet.
    fn begin(&mut self, window: &Window, scan: Scan) -> WindowLedger {
        let resume = self.resume.take_if(|resume| resume.window.get() == window.window);
        let mut counts = WindowCounts::new(&self.contract, window.window, self.history.previous_valid_targets());
        let mut microbatches = Vec::with_capacity(window.ranks.iter().map(|rank| rank.events.len()).sum());
        let mut carried_in = Vec::new();
        let mut overflowed = false;
        for rank in &window.ranks {
            let first = microbatches.len();
            carried(rank.rank, resume.as_ref(), &mut microbatches, &mut carried_in);
            overflowed |= recorded(rank, first, scan, &mut microbatches);
            counts.add_rank(&microbatches[first..]);
        }
        WindowLedger {
            window: window.window,
            counts,
            loss_sum: ExactSum::new(),
            auxiliary: auxiliary(&microbatches, self.contract.reduction_factor()),
            microbatches,
            nonfinite: 0,
            overflowed,
            is_resumed: resume.is_some(),
            end: scan.end,
            token_mean: None,
            loss: None,
            mean_of_means: None,
            weights: Weights::default(),
            gradients: None,
            claims: Vec::new(),
            clips: Vec::new(),
            drift: None,
            evidence: WindowEvidence::default(),
            carried: carried_in,
            buffers: if scan.has_buffers { self.buffers.clone() } else { Vec::new() },
            has_logs: scan.has_logs,
        }
    }

    /// Which evidence the window has, and which windows no logged loss can cover any more.
    fn witness(&mut self, window: &Window, scan: Scan, ledger: &mut WindowLedger) {
        ledger.evidence = WindowEvidence::of(window, ledger, self.rate_was_set);
        let lacks = |microbatch: &&Microbatch| lacks_count(&self.contract, microbatch);
        if ledger.stepped_or_skipped() && self.base != Base::TokenMean {
            ledger.evidence.without_count = ledger.microbatches.iter().filter(lacks).count() as u64;
        }
        self.rate_was_set |= scan.has_tick;
        let windows = |logged: &Logged| logged.loss.and(Some(logged.windows.map_or(1, Count::get)));
        let about = || claim::logged(window).filter_map(|(_, _, logged)| windows(logged)).max();
        let span = if scan.has_logs { about() } else { None };
        ledger.evidence.without_loss = if ledger.stepped_or_skipped() && ledger.loss.is_some() {
            self.coverage.add(window.window, span, window.is_last)
        } else if window.is_last {
            self.coverage.close()
        } else {
            None
        };
        let lost = self.lost.take();
        ledger.evidence.without_loss = ledger.evidence.without_loss.or(lost);
    }

    /// Declared weights, sums and means, in one pass over the microbatches.
    fn weigh(&mut self, ledger: &mut WindowLedger) {
        let tolerance = WeightTolerance {
            relative: self.tolerance.relative(),
            absolute: self.tolerance.absolute(),
            arithmetic: self.contract.loss_arithmetic(),
        };
        let constant = matches!(self.base, Base::TokenMean | Base::UnshiftedCount | Base::SlotMean);
        let mut shared = None;
        let means = &mut self.means;
        means.clear();
        let mut weighted = ExactSum::new();
        let (mut has_mean, mut is_weighted) = (!ledger.microbatches.is_empty(), true);
        for (index, microbatch) in ledger.microbatches.iter_mut().enumerate() {
            if shared.is_none() || !constant {
                shared = ledger.counts.fraction(self.base, microbatch).map(|fraction| fraction.weight());
            }
            microbatch.declared = shared;
            match (microbatch.loss_sum, microbatch.mean()) {
                (Some(loss_sum), mean) => {
                    ledger.loss_sum.add(loss_sum);
                    match mean.filter(|mean| mean.is_finite()) {
                        Some(mean) => means.add(mean),
                        None => has_mean = false,
                    }
                    if self.base != Base::TokenMean && microbatch.valid_targets > 0 {
                        match shared.filter(|weight| weight.is_finite()) {
                            Some(weight) => weighted.add_product(weight, loss_sum),
                            None => is_weighted = false,
                        }
                    }
                }
                (None, _) => {
                    ledger.nonfinite += 1;
                    has_mean = false;
                }
            }
            ledger.weights.add(index, microbatch, tolerance);
        }
        ledger.weights.explain(ledger.terms(), tolerance);
        let whole = ledger.nonfinite == 0 && ledger.counts.valid_targets > 0;
        ledger.token_mean = whole.then(|| ledger.loss_sum.over(ledger.counts.valid_targets)).filter(|x| x.is_finite());
        ledger.loss = match self.base {
            Base::TokenMean => ledger.token_mean,
            _ => (whole && is_weighted).then(|| weighted.over(ledger.counts.reduction)).filter(|x| x.is_finite()),
        };
        let averaged = has_mean.then(|| means.over(ledger.microbatches.len() as u64)).filter(|x| x.is_finite());
        ledger.mean_of_means = averaged.zip(ledger.token_mean).map(|(loss, truth)| drift(loss, truth));
    }
}

/// How far a mean of means lies from the loss of the whole window.
fn drift(loss: f64, truth: f64) -> MeanOfMeans {
    let absolute_drift = (loss - truth).abs();
    let relative_drift = if absolute_drift == 0.0 { 0.0 } else { absolute_drift / truth.abs() };
    MeanOfMeans { loss, absolute_drift, relative_drift: relative_drift.is_finite().then_some(relative_drift) }
}

/// The microbatches that an earlier run had done of the window on a rank.
fn carried(
    rank: u64,
    resume: Option<&Resume>,
    microbatches: &mut Vec<Microbatch>,
    carried_in: &mut Vec<ResumedMicrobatch>,
) {
    let resumed = resume.iter().flat_map(|resume| &resume.ranks).find(|resumed| resumed.rank.get() == rank);
    for (index, carried) in resumed.iter().flat_map(|resumed| resumed.microbatches.iter()).enumerate() {
        microbatches.push(Microbatch::carried(rank, index as u64, carried));
        carried_in.push(carried.clone());
    }
}

/// Takes down the microbatches that a rank recorded; the rank's own begin at `first`. Whether what was differentiated
/// of any of them is beyond binary64.
fn recorded(rank: &RankWindow, first: usize, scan: Scan, microbatches: &mut Vec<Microbatch>) -> bool {
    let mut overflowed = false;
    let rescales = if scan.has_rescale { Rescales::of(rank) } else { Rescales::default() };
    for (position, indexed, backward) in rank.backwards() {
        let backward_index = (microbatches.len() - first) as u64;
        let source = Source { position, event: indexed.index };
        let rescaled = rescales.after(position);
        let microbatch = Microbatch::recorded(rank.rank, backward_index, source, backward, rescaled);
        let was_recorded = backward.loss_sum.is_some() && backward.backward_loss.is_some();
        overflowed |= was_recorded && microbatch.differentiated.is_none();
        microbatches.push(microbatch);
    }
    overflowed
}

/// Σ auxiliary loss / c of a window, in nats; `None` where there is none.
fn auxiliary(microbatches: &[Microbatch], reduction: u64) -> Option<f64> {
    let mut terms = microbatches.iter().filter_map(|microbatch| microbatch.auxiliary).peekable();
    terms.peek()?;
    Some(terms.filter(|auxiliary| auxiliary.is_finite()).collect::<ExactSum>().over(reduction.max(1)))
}

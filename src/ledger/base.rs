//! The bases of MANIFEST.md §6: rules that give every microbatch its weight, as a fraction of counts.
//!
//! Invariant: a weight is a quotient of two products of counts, each exact below 2^53, so it is rounded once.
use super::microbatch::Microbatch;
use crate::manifest::contract::Contract;
use crate::manifest::contract::Formula;

macro_rules! bases {
    ($($(#[doc = $doc:literal])+ $base:ident = $name:literal),+ $(,)?) => {
        /// A rule that gives every microbatch its weight.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Base { $($(#[doc = $doc])+ $base),+ }

        impl Base {
            /// Every base, the right one first.
            pub const ALL: [Base; Base::COUNT] = [$(Base::$base),+];

            /// The name, as a diagnosis gives it.
            pub fn name(self) -> &'static str {
                match self { $(Base::$base => $name),+ }
            }
        }
    };
}

bases! {
    /// c/N.
    TokenMean = "token-mean",
    /// c/(W·k·n).
    MeanOfMeans = "mean-of-means",
    /// c/(W·N_r).
    RankTokenMean = "rank-token-mean",
    /// c/(k·n_i), n_i = Σ_r n(r,i).
    MicrobatchGlobalMean = "microbatch-global-mean",
    /// c/Σu over all ranks.
    UnshiftedCount = "unshifted-count",
    /// c/(W·Σu of the rank).
    RankUnshiftedCount = "rank-unshifted-count",
    /// c·u/(n·Σu).
    UnshiftedWeightedMeans = "unshifted-weighted-means",
    /// c/Σ slots.
    SlotMean = "slot-mean",
    /// c·rows/(Σ rows · n).
    RowWeighted = "row-weighted",
    /// c/N of the window before.
    StaleDenominator = "stale-denominator",
    /// c.
    Unnormalized = "unnormalized",
    /// The declared weight for the last microbatch of each rank, 0 for the others; losses do not show it.
    LastMicrobatchOnly = "last-microbatch-only",
    /// The declared weight for the first microbatch of each rank, 0 for the others; losses do not show it.
    FirstMicrobatchOnly = "first-microbatch-only",
}

impl Base {
    /// How many there are.
    pub const COUNT: usize = 13;

    /// The base that a declared formula names.
    pub fn of(formula: Formula) -> Base {
        match formula {
            Formula::TokenMean => Base::TokenMean,
            Formula::MeanOfMeans => Base::MeanOfMeans,
            Formula::RankTokenMean => Base::RankTokenMean,
            Formula::MicrobatchGlobalMean => Base::MicrobatchGlobalMean,
            Formula::UnshiftedCount => Base::UnshiftedCount,
            Formula::RankUnshiftedCount => Base::RankUnshiftedCount,
            Formula::UnshiftedWeightedMeans => Base::UnshiftedWeightedMeans,
            Formula::SlotMean => Base::SlotMean,
            Formula::RowWeighted => Base::RowWeighted,
            Formula::StaleDenominator => Base::StaleDenominator,
            Formula::Unnormalized => Base::Unnormalized,
        }
    }

    /// Position in [`Base::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether gradients were overwritten and not added, which no loss shows.
    pub fn overwrites(self) -> bool {
        matches!(self, Base::LastMicrobatchOnly | Base::FirstMicrobatchOnly)
    }
}

/// A weight as numerator and denominator, both products of counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fraction {
    /// 0 where the microbatch has no part.
    pub numerator: f64,
    /// Above 0.
    pub denominator: f64,
}

impl Fraction {
    /// f, rounded once.
    pub fn weight(self) -> f64 {
        self.numerator / self.denominator
    }

    /// 1/f; infinite for a weight of 0.
    pub fn inverse(self) -> f64 {
        self.denominator / self.numerator
    }
}

/// The counts of a window from which every base's weights follow.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCounts {
    /// W.
    pub world_size: u64,
    /// c: W where gradients are averaged over ranks, 1 where they are summed; at least 1.
    pub reduction: u64,
    /// K: declared for this window.
    pub accumulation_steps: u64,
    /// k: microbatches per rank really in the window, carried ones included.
    pub microbatches: u64,
    /// N: valid targets over all microbatches and ranks.
    pub valid_targets: u64,
    /// N of the window before, where that is known.
    pub previous_valid_targets: Option<u64>,
    /// Σu, where every microbatch has it.
    pub unshifted_targets: Option<u64>,
    /// Σ slots, where every microbatch has it.
    pub slots: Option<u64>,
    /// Σ rows, where every microbatch has it.
    pub rows: Option<u64>,
    /// By rank.
    pub ranks: Vec<RankCounts>,
    /// n_i: valid targets over ranks of each backward index; empty for one rank.
    pub columns: Vec<u64>,
}

/// One rank's part of [`WindowCounts`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankCounts {
    /// N_r.
    pub valid_targets: u64,
    /// Σu of the rank, where every microbatch has it.
    pub unshifted_targets: Option<u64>,
    /// Microbatches of the rank, carried ones included.
    pub microbatches: u64,
}

impl WindowCounts {
    /// The counts of a window before any microbatch of it was seen.
    pub fn new(contract: &Contract, window: u64, previous_valid_targets: Option<u64>) -> Self {
        WindowCounts {
            world_size: contract.world_size.get(),
            reduction: contract.reduction_factor().max(1),
            accumulation_steps: contract.accumulation_steps.at(window),
            microbatches: 0,
            valid_targets: 0,
            previous_valid_targets,
            unshifted_targets: Some(0),
            slots: Some(0),
            rows: Some(0),
            ranks: Vec::new(),
            columns: Vec::new(),
        }
    }

    /// Takes in a rank's microbatches, in order of backward index.
    pub fn add_rank(&mut self, microbatches: &[Microbatch]) {
        let mut rank = RankCounts { valid_targets: 0, unshifted_targets: Some(0), microbatches: 0 };
        for (index, microbatch) in microbatches.iter().enumerate() {
            rank.valid_targets = rank.valid_targets.saturating_add(microbatch.valid_targets);
            add(&mut rank.unshifted_targets, microbatch.unshifted_targets);
            add(&mut self.slots, microbatch.slots);
            add(&mut self.rows, microbatch.rows);
            if self.world_size > 1 {
                if self.columns.len() <= index {
                    self.columns.push(0);
                }
                self.columns[index] = self.columns[index].saturating_add(microbatch.valid_targets);
            }
        }
        rank.microbatches = microbatches.len() as u64;
        add(&mut self.unshifted_targets, rank.unshifted_targets);
        self.valid_targets = self.valid_targets.saturating_add(rank.valid_targets);
        self.microbatches = self.microbatches.max(rank.microbatches);
        self.ranks.push(rank);
    }

    /// Whether the window has K microbatches on every rank.
    pub fn is_full(&self) -> bool {
        self.microbatches == self.accumulation_steps
    }

    /// W/c: by what the bases that average over ranks divide.
    fn ranks_averaged(&self) -> f64 {
        (self.world_size / self.reduction).max(1) as f64
    }

    /// What the base gives a microbatch with targets; `None` where a count that it needs was not recorded or is 0.
    ///
    /// For the overwriting bases this is 0 or 1, the part of the declared weight that is left.
    pub fn fraction(&self, base: Base, microbatch: &Microbatch) -> Option<Fraction> {
        let c = self.reduction as f64;
        let rank = self.ranks.get(microbatch.rank as usize)?;
        let targets = microbatch.valid_targets as f64;
        let k = rank.microbatches as f64;
        let (numerator, denominator) = match base {
            Base::TokenMean => (c, self.valid_targets as f64),
            Base::MeanOfMeans => (1.0, self.ranks_averaged() * k * targets),
            Base::RankTokenMean => (1.0, self.ranks_averaged() * rank.valid_targets as f64),
            Base::MicrobatchGlobalMean => (c, k * self.column(microbatch)? as f64),
            Base::UnshiftedCount => (c, self.unshifted_targets? as f64),
            Base::RankUnshiftedCount => (1.0, self.ranks_averaged() * rank.unshifted_targets? as f64),
            Base::UnshiftedWeightedMeans => {
                (c * microbatch.unshifted_targets? as f64, targets * self.unshifted_targets? as f64)
            }
            Base::SlotMean => (c, self.slots? as f64),
            Base::RowWeighted => (c * microbatch.rows? as f64, self.rows? as f64 * targets),
            Base::StaleDenominator => (c, self.previous_valid_targets? as f64),
            Base::Unnormalized => (c, 1.0),
            Base::LastMicrobatchOnly => (f64::from(microbatch.backward_index + 1 == rank.microbatches), 1.0),
            Base::FirstMicrobatchOnly => (f64::from(microbatch.backward_index == 0), 1.0),
        };
        (denominator > 0.0).then_some(Fraction { numerator, denominator })
    }

    /// n_i of the microbatch.
    fn column(&self, microbatch: &Microbatch) -> Option<u64> {
        match self.world_size {
            0 | 1 => Some(microbatch.valid_targets),
            _ => self.columns.get(microbatch.backward_index as usize).copied(),
        }
    }

    /// The count by which a base divides all of a rank's loss sums alike, where there is one: what a run that follows
    /// the base would log as its denominator.
    pub fn denominator(&self, base: Base, rank: u64) -> Option<u64> {
        let rank = self.ranks.get(rank as usize)?;
        match base {
            Base::TokenMean => Some(self.valid_targets),
            Base::RankTokenMean => Some(rank.valid_targets),
            Base::UnshiftedCount => self.unshifted_targets,
            Base::RankUnshiftedCount => rank.unshifted_targets,
            Base::SlotMean => self.slots,
            Base::StaleDenominator => self.previous_valid_targets,
            _ => None,
        }
    }
}

/// Adds a count that may not have been recorded.
fn add(total: &mut Option<u64>, count: Option<u64>) {
    *total = total.zip(count).map(|(total, count)| total.saturating_add(count));
}

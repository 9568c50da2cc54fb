//! Recipes that may still explain what was recorded, and how well each fits each kind of evidence.
//!
//! Invariant: a recipe that contradicts the weights is dropped, since every set of evidence that is tried holds them;
//! so a long run asks of each microbatch only what is still open.
use super::recipe::Recipe;
use crate::ledger::base::Base;
use crate::ledger::base::WindowCounts;
use crate::ledger::microbatch::Microbatch;
use crate::numeric::rounding::Arithmetic;

/// A kind of recorded number that recipes are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// `backward_loss`.
    Weights,
    /// `logged.loss`.
    Loss,
    /// `logged.gradient`.
    Gradient,
    /// `logged.grad_norm` and `clip.norm`.
    Norm,
    /// `backward.accumulated`.
    Accumulated,
}

impl Kind {
    /// Every kind.
    pub(super) const ALL: [Kind; 5] = [Kind::Weights, Kind::Loss, Kind::Gradient, Kind::Norm, Kind::Accumulated];

    /// What it is called in a text.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Weights => "backward losses",
            Kind::Loss => "logged losses",
            Kind::Gradient => "logged gradients",
            Kind::Norm => "gradient norms",
            Kind::Accumulated => "accumulated gradients",
        }
    }

    /// Whether it shows what the gradients became, and not only what was differentiated.
    pub(super) fn shows_gradients(self) -> bool {
        matches!(self, Kind::Gradient | Kind::Norm | Kind::Accumulated)
    }
}

/// Telling numbers from which a recipe that leaves windows unjudged may be named; one weight alone says too little.
pub(super) const ENOUGH_TELLING: u64 = 2;

/// How one recipe fares against one kind of evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Fit {
    /// Windows in which the two were compared.
    pub(super) compared: u64,
    /// The unit roundoff with which rounding could plausibly make the worst difference: 0 where all agree within
    /// tolerance, infinite where no format's rounding could.
    pub(super) needed: f64,
    /// Recorded numbers in those windows that the declared formula does not give: what speaks for another one.
    pub(super) telling: u64,
}

impl Fit {
    /// Takes in a relative difference beyond tolerance, of a sum with `terms` terms: 8·√m·u makes it plausible.
    ///
    /// Above 1/16 that bound explains nothing, however long the sum.
    pub(super) fn differ(&mut self, relative: f64, terms: u64) {
        let needed = relative / (8.0 * (terms as f64).sqrt());
        let possible = relative <= 1.0 / 16.0 && needed <= Arithmetic::Bfloat16.unit_roundoff();
        self.needed = self.needed.max(if possible { needed } else { f64::INFINITY });
    }

    /// Takes in a difference that no rounding makes.
    pub(super) fn contradict(&mut self) {
        self.needed = f64::INFINITY;
    }

    /// Whether rounding of no format makes the differences seen.
    pub(super) fn is_dead(&self) -> bool {
        self.needed == f64::INFINITY
    }
}

/// A recipe that may still explain what was recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Which.
    pub(super) recipe: Recipe,
    /// By [`Kind`].
    pub(super) fits: [Fit; 5],
    /// Windows with evidence in which its weights are not known: a count was not recorded, or there is no window
    /// before.
    pub(super) unknown: u64,
    /// 1/f in the window that is looked at.
    pub(super) inverse: Inverse,
    /// Candidates of one class gave every microbatch the same weight so far.
    pub(super) class: u32,
}

impl Candidate {
    /// How it fares against a kind of evidence.
    pub(super) fn fit(&self, kind: Kind) -> &Fit {
        &self.fits[kind as usize]
    }

    /// The same, to be changed.
    pub(super) fn fit_mut(&mut self, kind: Kind) -> &mut Fit {
        &mut self.fits[kind as usize]
    }

    /// Whether some set of the evidence that was recorded may still be explained by it.
    pub(super) fn is_viable(&self, recorded: [bool; 5]) -> bool {
        // Those that contradict the weights are gone, and the weights alone are the last set that is tried.
        if recorded[Kind::Weights as usize] {
            return true;
        }
        let holds = |kinds: &[Kind]| {
            kinds.iter().any(|&kind| recorded[kind as usize]) && kinds.iter().all(|&kind| !self.fit(kind).is_dead())
        };
        holds(&Kind::ALL) || holds(&[Kind::Gradient, Kind::Norm, Kind::Accumulated])
    }
}

/// 1/f of a recipe in one window, ready to be asked for each microbatch.
#[derive(Clone, Copy, Debug)]
pub(super) enum Inverse {
    /// A count is missing.
    Unknown,
    /// The same for every microbatch.
    Constant(f64),
    /// So much times n.
    Targets(f64),
    /// So much times n/u.
    TargetsByUnshifted(f64),
    /// So much times n/rows.
    TargetsByRows(f64),
    /// Whatever the base gives each, divided by the factor.
    Each(Base, f64),
}

impl Inverse {
    /// Of a recipe in a window whose first microbatch with targets is `first`. An overwriting base shows in no loss: there it is the declared one's.
    pub(super) fn of(recipe: Recipe, declared: Base, counts: &WindowCounts, first: &Microbatch) -> Self {
        let factor = recipe.factor.value(counts);
        let base = if recipe.base.overwrites() { declared } else { recipe.base };
        let Some(fraction) = counts.fraction(base, first) else { return Inverse::Unknown };
        let by_reduction = |count: u64| count as f64 / counts.reduction as f64;
        match base {
            Base::TokenMean | Base::UnshiftedCount | Base::SlotMean | Base::StaleDenominator | Base::Unnormalized => {
                Inverse::Constant(fraction.inverse() / factor)
            }
            Base::RankTokenMean | Base::RankUnshiftedCount if counts.ranks.len() == 1 => {
                Inverse::Constant(fraction.inverse() / factor)
            }
            Base::MeanOfMeans => Inverse::Targets(fraction.inverse() / first.valid_targets as f64 / factor),
            Base::UnshiftedWeightedMeans => {
                Inverse::TargetsByUnshifted(counts.unshifted_targets.map_or(f64::NAN, by_reduction) / factor)
            }
            Base::RowWeighted => Inverse::TargetsByRows(counts.rows.map_or(f64::NAN, by_reduction) / factor),
            _ => Inverse::Each(base, factor),
        }
    }

    /// For one microbatch with targets; infinite for a weight of 0, `None` where a count is missing.
    #[inline]
    pub(super) fn get(self, counts: &WindowCounts, microbatch: &Microbatch) -> Option<f64> {
        match self {
            Inverse::Unknown => None,
            Inverse::Constant(inverse) => Some(inverse),
            Inverse::Targets(coefficient) => Some(coefficient * microbatch.valid_targets as f64),
            Inverse::TargetsByUnshifted(coefficient) => {
                Some(by(coefficient, microbatch, microbatch.unshifted_targets?))
            }
            Inverse::TargetsByRows(coefficient) => Some(by(coefficient, microbatch, microbatch.rows?)),
            Inverse::Each(base, factor) => Some(counts.fraction(base, microbatch)?.inverse() / factor),
        }
    }
}

/// So much times n over a count; infinite, a weight of 0, where the count is 0.
#[inline]
fn by(coefficient: f64, microbatch: &Microbatch, count: u64) -> f64 {
    coefficient * microbatch.valid_targets as f64 / count as f64
}

/// The recipes that are told apart in one kind of window: those that stand for others there are left out.
pub(super) fn distinct(ranks: u64, full: bool) -> Vec<Candidate> {
    let stands_for_itself = |recipe: &Recipe| {
        let seen = if full { recipe.in_full_window() } else { *recipe };
        seen.on(ranks) == *recipe
    };
    let candidate =
        |recipe| Candidate { recipe, fits: [Fit::default(); 5], unknown: 0, inverse: Inverse::Unknown, class: 0 };
    Recipe::all().filter(stands_for_itself).map(candidate).collect()
}

//! Recipes: a base times a constant factor, and what each is called (MANIFEST.md §6).
use crate::ledger::base::Base;
use crate::ledger::base::WindowCounts;

/// A constant factor; K is declared, k is really in the window, W are the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Factor {
    /// 1.
    One,
    /// K.
    TimesNominal,
    /// 1/K.
    OverNominal,
    /// k.
    TimesActual,
    /// 1/k.
    OverActual,
    /// k/K.
    ActualOverNominal,
    /// W.
    TimesRanks,
    /// 1/W.
    OverRanks,
}

impl Factor {
    /// Every factor, in the format's order.
    pub const ALL: [Factor; 8] = [
        Factor::One,
        Factor::TimesNominal,
        Factor::OverNominal,
        Factor::TimesActual,
        Factor::OverActual,
        Factor::ActualOverNominal,
        Factor::TimesRanks,
        Factor::OverRanks,
    ];

    /// Its value in a window.
    pub fn value(self, counts: &WindowCounts) -> f64 {
        self.value_for(counts.accumulation_steps as f64, counts.microbatches as f64, counts.world_size as f64)
    }

    /// Its value for K, k and W.
    pub fn value_for(self, nominal: f64, actual: f64, ranks: f64) -> f64 {
        match self {
            Factor::One => 1.0,
            Factor::TimesNominal => nominal,
            Factor::OverNominal => 1.0 / nominal,
            Factor::TimesActual => actual,
            Factor::OverActual => 1.0 / actual,
            Factor::ActualOverNominal => actual / nominal,
            Factor::TimesRanks => ranks,
            Factor::OverRanks => 1.0 / ranks,
        }
    }

    /// How it is written after a base's name.
    pub fn suffix(self) -> &'static str {
        match self {
            Factor::One => "",
            Factor::TimesNominal => "*K",
            Factor::OverNominal => "/K",
            Factor::TimesActual => "*k",
            Factor::OverActual => "/k",
            Factor::ActualOverNominal => "*k/K",
            Factor::TimesRanks => "*W",
            Factor::OverRanks => "/W",
        }
    }

    /// The factor that stands for this one where k = K.
    pub fn in_full_window(self) -> Factor {
        match self {
            Factor::TimesActual => Factor::TimesNominal,
            Factor::OverActual => Factor::OverNominal,
            Factor::ActualOverNominal => Factor::One,
            other => other,
        }
    }

    /// The factor that stands for this one where W = 1.
    pub fn on_one_rank(self) -> Factor {
        match self {
            Factor::TimesRanks | Factor::OverRanks => Factor::One,
            other => other,
        }
    }
}

/// A base times a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recipe {
    /// The rule.
    pub base: Base,
    /// By what its weights are multiplied.
    pub factor: Factor,
}

/// The products with a name of their own, the simpler first.
const NAMED: [(Base, Factor, &str); 7] = [
    (Base::MeanOfMeans, Factor::ActualOverNominal, "mean-of-means-nominal"),
    (Base::MeanOfMeans, Factor::TimesActual, "sum-of-means"),
    (Base::TokenMean, Factor::OverActual, "divided-twice"),
    (Base::TokenMean, Factor::OverNominal, "divided-twice-nominal"),
    (Base::TokenMean, Factor::TimesActual, "multiplied-by-k"),
    (Base::TokenMean, Factor::OverRanks, "world-size-lost"),
    (Base::TokenMean, Factor::TimesRanks, "world-size-twice"),
];

impl Recipe {
    /// The right one.
    pub const TOKEN_MEAN: Recipe = Recipe { base: Base::TokenMean, factor: Factor::One };

    /// Every recipe.
    pub fn all() -> impl Iterator<Item = Recipe> {
        Base::ALL.into_iter().flat_map(|base| Factor::ALL.map(|factor| Recipe { base, factor }))
    }

    /// Position in [`Recipe::all`], below 104.
    pub fn number(self) -> u32 {
        (self.base as usize * Factor::ALL.len() + self.factor as usize) as u32
    }

    /// The name that is its own: a base's, or that of a product with a name.
    pub fn proper_name(self) -> Option<&'static str> {
        if self.factor == Factor::One {
            return Some(self.base.name());
        }
        let named = NAMED.iter().find(|&&(base, factor, _)| (base, factor) == (self.base, self.factor));
        named.map(|&(_, _, name)| name)
    }

    /// The proper name, else the base's with the factor as a suffix.
    pub fn name(self) -> String {
        match self.proper_name() {
            Some(name) => name.to_owned(),
            None => format!("{}{}", self.base.name(), self.factor.suffix()),
        }
    }

    /// For putting the simplest first: bases, then products with a name, then the others.
    pub fn simplicity(self) -> (u8, usize, Base, Factor) {
        let named = NAMED.iter().position(|&(base, factor, _)| (base, factor) == (self.base, self.factor));
        let kind = match (self.factor, named) {
            (Factor::One, _) => 0,
            (_, Some(_)) => 1,
            _ => 2,
        };
        (kind, named.unwrap_or(0), self.base, self.factor)
    }

    /// The recipe that stands for this one in every window of a run on `ranks` ranks: there, averages over ranks are
    /// no averages.
    pub fn on(self, ranks: u64) -> Recipe {
        if ranks > 1 {
            return self;
        }
        let base = match self.base {
            Base::RankTokenMean => Base::TokenMean,
            Base::MicrobatchGlobalMean => Base::MeanOfMeans,
            Base::RankUnshiftedCount => Base::UnshiftedCount,
            other => other,
        };
        Recipe { base, factor: self.factor.on_one_rank() }
    }

    /// The recipe that stands for this one where k = K.
    pub fn in_full_window(self) -> Recipe {
        Recipe { factor: self.factor.in_full_window(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_formats() {
        let name = |base, factor| Recipe { base, factor }.name();
        assert_eq!(name(Base::UnshiftedCount, Factor::OverNominal), "unshifted-count/K");
        assert_eq!(name(Base::MeanOfMeans, Factor::TimesActual), "sum-of-means");
        assert_eq!(name(Base::MeanOfMeans, Factor::ActualOverNominal), "mean-of-means-nominal");
        assert_eq!(name(Base::TokenMean, Factor::OverRanks), "world-size-lost");
        assert_eq!(name(Base::RowWeighted, Factor::ActualOverNominal), "row-weighted*k/K");
        assert_eq!(name(Base::TokenMean, Factor::TimesNominal), "token-mean*K");
        let names: std::collections::BTreeSet<String> = Recipe::all().map(Recipe::name).collect();
        assert_eq!(names.len(), 104);
        assert!(Recipe::all().enumerate().all(|(number, recipe)| recipe.number() as usize == number));
    }

    #[test]
    fn one_rank_makes_no_average_over_ranks() {
        let lost = Recipe { base: Base::RankTokenMean, factor: Factor::OverRanks };
        assert_eq!(lost.on(1), Recipe::TOKEN_MEAN);
        assert_eq!(lost.on(2), lost);
        let nominal = Recipe { base: Base::TokenMean, factor: Factor::ActualOverNominal };
        assert_eq!(nominal.in_full_window(), Recipe::TOKEN_MEAN);
    }
}

//! What one target counted for under a recipe that was not the declared one, beside what it should, in words.
use super::explain::window;
use super::number;
use super::recipes::Recipe;
use crate::receipt::document::Receipt;

/// Digits of a multiple: enough to be found again in the table of microbatches.
const DIGITS: usize = 3;

/// Shares that differ by less than this, relative, are alike.
const ALIKE: f64 = 0.01;

/// What the targets of a run counted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// As they should, or it is not known.
    Fairly,
    /// All of them too much, or all too little, by one factor.
    Alike(String),
    /// Some more than others.
    Differently(String),
}

/// What the targets of a run counted for under the recipe that it followed, as a clause.
pub(super) fn of(receipt: &Receipt, recipe: &Recipe) -> Counted {
    let shares = receipt.microbatches.iter().flatten().filter_map(window::share);
    let Some((least, most)) = shares.fold(None, |range: Option<(f64, f64)>, share| {
        Some(range.map_or((share, share), |(least, most)| (least.min(share), most.max(share))))
    }) else {
        return Counted::Fairly;
    };
    let [few, many] = [least, most].map(|share| number::significant(share, DIGITS));
    let is_too_little = least < 1.0 - ALIKE;
    let is_too_much = most > 1.0 + ALIKE;
    match recipe.heaviest {
        _ if !is_too_little && !is_too_much => Counted::Fairly,
        _ if most - least <= ALIKE * most => {
            let size = if is_too_little { "small" } else { "large" };
            Counted::Alike(format!(
                "every target counted {many} times what it should, and the whole gradient was too {size}"
            ))
        }
        "" if is_too_little && is_too_much => {
            Counted::Differently(format!("targets counted between {few} and {many} times what they should"))
        }
        heaviest if is_too_much => {
            let targets = if heaviest.is_empty() { "targets" } else { heaviest };
            Counted::Differently(format!("{targets} counted up to {many} times as much as they should"))
        }
        _ if least == 0.0 => Counted::Differently("the other targets counted for nothing".to_owned()),
        _ => Counted::Differently(format!("targets counted as little as {few} times what they should")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::recipes;
    use crate::report::testing;
    use crate::report::testing::Made;

    fn counted(made: &[Made], recipe: &str) -> Counted {
        of(&testing::receipt(&[made]), &recipes::find(recipe).expect("a recipe"))
    }

    #[test]
    fn some_targets_count_for_more_than_others() {
        let different = |text: &str| Counted::Differently(text.to_owned());
        assert_eq!(
            counted(&testing::MEAN_OF_MEANS, "mean-of-means"),
            different("targets in short microbatches counted up to 3.33 times as much as they should")
        );
        assert_eq!(
            counted(&[(3, 1.2, 0.0), (6, 4.8, 1.0)], "last-microbatch-only"),
            different("the other targets counted for nothing")
        );
        assert_eq!(
            counted(&[(3, 1.2, 0.5), (6, 4.8, 1.5)], "stale-denominator"),
            different("targets counted between 0.5 and 1.5 times what they should")
        );
        assert_eq!(
            counted(&[(3, 1.2, 1.0), (6, 4.8, 4.0)], "unnormalized"),
            different("targets counted up to 4 times as much as they should")
        );
        assert_eq!(
            counted(&[(3, 1.2, 0.25), (6, 4.8, 0.5)], "mean-of-means"),
            different("targets counted as little as 0.25 times what they should")
        );
    }

    #[test]
    fn all_targets_are_off_alike() {
        let half = [(3, 1.2, 0.5), (6, 4.8, 0.5)];
        let alike = "every target counted 0.5 times what it should, and the whole gradient was too small";
        assert_eq!(counted(&half, "world-size-lost"), Counted::Alike(alike.to_owned()));
        let Counted::Alike(text) = counted(&[(3, 1.2, 2.0)], "world-size-twice") else { panic!("alike") };
        assert!(text.ends_with("too large"), "{text}");
    }

    #[test]
    fn what_is_right_or_unknown_is_not_said() {
        assert_eq!(counted(&testing::RIGHT, "mean-of-means"), Counted::Fairly);
        let receipt = Receipt { microbatches: None, ..testing::receipt(&[&testing::MEAN_OF_MEANS]) };
        assert_eq!(of(&receipt, &recipes::find("mean-of-means").expect("a recipe")), Counted::Fairly);
    }
}

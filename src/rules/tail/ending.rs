//! Whether a `carry` or `drop` lists what its window really holds, for GA601.
use crate::clock::RankClock;
use crate::manifest::contract::DeclaredTolerance;
use crate::manifest::event::Backward;
use crate::manifest::event::Carry;
use crate::manifest::event::Dropped;
use crate::manifest::identifier::Identifier;
use crate::manifest::list::Vector;
use crate::manifest::window::RankWindow;

/// The field that is wrong and what is wrong with it.
pub(super) type Fault = (String, String);

/// A rank's recorded part of a window.
pub(super) struct Contents<'a> {
    rank: &'a RankClock,
    backwards: Vec<&'a Backward>,
    window: u64,
    tolerance: DeclaredTolerance,
}

impl<'a> Contents<'a> {
    pub(super) fn of(window: u64, rank: &'a RankClock, recorded: &'a RankWindow, tolerance: DeclaredTolerance) -> Self {
        let backwards = recorded.backwards().map(|(_, _, backward)| backward).collect();
        Contents { rank, backwards, window, tolerance }
    }

    /// What a `drop` says that the window does not.
    pub(super) fn dropped(&self, drop: &Dropped) -> Option<Fault> {
        self.common("/drop", drop.window.get(), &drop.microbatches, drop.valid_targets.get())
    }

    /// What a `carry` says that the window does not. In a window that was resumed before, the numerators of the
    /// microbatches carried in are not among its events: then only what can be told is judged.
    pub(super) fn carried(&self, carry: &Carry) -> Option<Fault> {
        self.common("/carry", carry.window.get(), &carry.microbatches, carry.valid_targets.get())
            .or_else(|| self.backward_count(carry.backwards.get()))
            .or_else(|| self.loss_sum(carry.loss_sum.get()))
            .or_else(|| self.gradient_sum(carry.gradient_sum.as_ref()?))
    }

    fn common(&self, tag: &str, window: u64, ids: &[Identifier], targets: u64) -> Option<Fault> {
        if window != self.window {
            return Some((format!("{tag}/window"), format!("names window {window} in window {}", self.window)));
        }
        let own = self.backwards.len();
        let carried_in = if self.rank.is_resumed { ids.len().saturating_sub(own) } else { 0 };
        if ids.len() != own + carried_in || ids.len() as u64 > self.rank.microbatches {
            let message = format!("lists {} of the window's {} microbatches", ids.len(), self.rank.microbatches);
            return Some((format!("{tag}/microbatches"), message));
        }
        let recorded = self.backwards.iter().map(|backward| &backward.microbatch);
        let mut pairs = ids.iter().enumerate().skip(carried_in).zip(recorded);
        if let Some(((position, listed), recorded)) = pairs.find(|((_, listed), recorded)| listed != recorded) {
            let message = format!("lists {} where the window has {}", listed.as_str(), recorded.as_str());
            return Some((format!("{tag}/microbatches/{position}"), message));
        }
        let seen: u64 = self.backwards.iter().map(|backward| backward.valid_targets.get()).sum();
        let is_right = if carried_in == 0 { targets == seen } else { targets >= seen };
        (!is_right).then(|| {
            (format!("{tag}/valid_targets"), format!("has {targets} valid targets where the window has {seen}"))
        })
    }

    fn backward_count(&self, backwards: u64) -> Option<Fault> {
        let (here, in_all) = (self.backwards.len() as u64, self.rank.microbatches);
        let is_wrong = backwards != here && backwards != in_all;
        is_wrong.then(|| {
            ("/carry/backwards".to_owned(), format!("counts {backwards} backwards where the window has {in_all}"))
        })
    }

    fn loss_sum(&self, recorded: f64) -> Option<Fault> {
        let numerators: Option<Vec<f64>> = self.backwards.iter().map(|backward| backward.numerator()).collect();
        let sum: f64 = numerators.filter(|_| !self.rank.is_resumed)?.iter().sum();
        let message = format!("has loss sum {recorded} where the window has {sum}");
        (!self.agrees(recorded, sum)).then(|| ("/carry/loss_sum".to_owned(), message))
    }

    fn gradient_sum(&self, recorded: &Vector) -> Option<Fault> {
        let vectors: Option<Vec<&Vector>> =
            self.backwards.iter().map(|backward| backward.gradient_sum.as_ref()).collect();
        let vectors = vectors.filter(|_| !self.rank.is_resumed)?;
        recorded.iter().enumerate().find_map(|(position, value)| {
            let terms: Option<Vec<f64>> = vectors.iter().map(|vector| Some(vector.get(position)?.get())).collect();
            let sum: f64 = terms?.iter().sum();
            let message = format!("has gradient sum {} where the window has {sum}", value.get());
            (!self.agrees(value.get(), sum)).then(|| (format!("/carry/gradient_sum/{position}"), message))
        })
    }

    fn agrees(&self, recorded: f64, reference: f64) -> bool {
        let bound = self.tolerance.absolute.get() + self.tolerance.relative.get() * reference.abs();
        (recorded - reference).abs() <= bound
    }
}

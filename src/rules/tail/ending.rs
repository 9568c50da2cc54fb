//! Whether a `carry` or `drop` lists what its window really holds, for GA601.
use crate::manifest::contract::DeclaredTolerance;
use crate::manifest::event::Backward;
use crate::manifest::event::Carry;
use crate::manifest::event::Dropped;
use crate::manifest::identifier::Identifier;
use crate::manifest::list::Vector;
use crate::manifest::resume::ResumedMicrobatch;
use crate::numeric::exact::ExactSum;
use crate::numeric::shown;
use crate::rules::Judged;

/// The field that is wrong and what is wrong with it.
pub(super) type Fault = (String, String);

/// What a rank's part of a window holds.
pub(super) struct Contents<'a> {
    window: u64,
    tolerance: DeclaredTolerance,
    microbatches: Vec<Microbatch<'a>>,
}

struct Microbatch<'a> {
    id: &'a Identifier,
    valid_targets: u64,
    loss_sum: Option<f64>,
    gradient_sum: Option<&'a Vector>,
}

impl<'a> Contents<'a> {
    /// Everything that the window holds, first what was carried into it.
    pub(super) fn all(judged: &Judged<'a>, rank: usize) -> Option<Self> {
        let recorded = judged.window.ranks.get(rank)?;
        let resume = judged.resume.filter(|_| judged.clock.ranks.get(rank).is_some_and(|rank| rank.is_resumed));
        let resumed = resume.and_then(|resume| resume.ranks.iter().find(|resumed| resumed.rank.get() == recorded.rank));
        let carried_in =
            resumed.into_iter().flat_map(|resumed| resumed.microbatches.iter()).map(Microbatch::carried_in);
        let own = recorded.backwards().map(|(_, _, backward)| Microbatch::recorded(backward));
        let microbatches = carried_in.chain(own).collect();
        Some(Contents { window: judged.clock.window, tolerance: judged.contract.tolerance, microbatches })
    }

    /// What was recorded here alone.
    pub(super) fn own(judged: &Judged<'a>, rank: usize) -> Option<Self> {
        let recorded = judged.window.ranks.get(rank)?;
        let microbatches = recorded.backwards().map(|(_, _, backward)| Microbatch::recorded(backward)).collect();
        Some(Contents { window: judged.clock.window, tolerance: judged.contract.tolerance, microbatches })
    }

    /// What a `drop` says that the window does not.
    pub(super) fn dropped(&self, drop: &Dropped) -> Option<Fault> {
        self.common("/drop", drop.window.get(), &drop.microbatches, drop.valid_targets.get())
    }

    /// What a `carry` says that the window does not.
    pub(super) fn carried(&self, carry: &Carry) -> Option<Fault> {
        self.common("/carry", carry.window.get(), &carry.microbatches, carry.valid_targets.get())
            .or_else(|| self.backwards(carry.backwards.get()))
            .or_else(|| self.loss_sum(carry.loss_sum.get()))
            .or_else(|| self.gradient_sum(carry.gradient_sum.as_ref()?))
    }

    fn common(&self, tag: &str, window: u64, ids: &[Identifier], targets: u64) -> Option<Fault> {
        if window != self.window {
            return Some((format!("{tag}/window"), format!("names window {window} in window {}", self.window)));
        }
        let held = self.microbatches.len();
        if ids.len() != held {
            let held = shown::count(held as u64, "microbatch");
            let message = format!("lists {} of the window's {held}", ids.len());
            return Some((format!("{tag}/microbatches"), message));
        }
        let mut pairs = ids.iter().zip(&self.microbatches).enumerate();
        if let Some((position, (listed, held))) = pairs.find(|(_, (listed, held))| *listed != held.id) {
            let message = format!("lists {} where the window has {}", listed.as_str(), held.id.as_str());
            return Some((format!("{tag}/microbatches/{position}"), message));
        }
        let seen = self.microbatches.iter().fold(0_u64, |sum, held| sum.saturating_add(held.valid_targets));
        let message = format!("has {} where the window has {seen}", shown::count(targets, "valid target"));
        (targets != seen).then(|| (format!("{tag}/valid_targets"), message))
    }

    fn backwards(&self, counted: u64) -> Option<Fault> {
        let held = self.microbatches.len() as u64;
        let message = format!("counts {} where the window has {held}", shown::count(counted, "backward"));
        (counted != held).then(|| ("/carry/backwards".to_owned(), message))
    }

    /// Not judged where a microbatch was nonfinite.
    fn loss_sum(&self, listed: f64) -> Option<Fault> {
        let sum = self.microbatches.iter().map(|held| held.loss_sum).collect::<Option<ExactSum>>()?.to_f64();
        let message = format!("has loss sum {listed} where the window has {sum}");
        (!self.agrees(listed, sum)).then(|| ("/carry/loss_sum".to_owned(), message))
    }

    /// Not judged where a microbatch has no gradient.
    fn gradient_sum(&self, listed: &Vector) -> Option<Fault> {
        listed.iter().enumerate().find_map(|(position, value)| {
            let terms = self.microbatches.iter().map(|held| Some(held.gradient_sum?.get(position)?.get()));
            let sum = terms.collect::<Option<ExactSum>>()?.to_f64();
            let message = format!("has gradient sum {} where the window has {sum}", value.get());
            (!self.agrees(value.get(), sum)).then(|| (format!("/carry/gradient_sum/{position}"), message))
        })
    }

    fn agrees(&self, listed: f64, reference: f64) -> bool {
        let bound = self.tolerance.absolute.get() + self.tolerance.relative.get() * reference.abs();
        (listed - reference).abs() <= bound
    }
}

impl<'a> Microbatch<'a> {
    fn carried_in(resumed: &'a ResumedMicrobatch) -> Self {
        Microbatch {
            id: &resumed.microbatch,
            valid_targets: resumed.valid_targets.get(),
            loss_sum: Some(resumed.loss_sum.get()),
            gradient_sum: resumed.gradient_sum.as_ref(),
        }
    }

    fn recorded(backward: &'a Backward) -> Self {
        Microbatch {
            id: &backward.microbatch,
            valid_targets: backward.valid_targets.get(),
            loss_sum: backward.numerator(),
            gradient_sum: backward.gradient_sum.as_ref(),
        }
    }
}

//! The rescales of a window on one rank, and what is still to come of them after any point.
use crate::manifest::event::Event;
use crate::manifest::window::RankWindow;

/// The rescales before the optimizer's step, in order: position among the rank's events, and the product of its factor
/// and all later ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Rescales {
    later: Vec<(usize, f64)>,
}

impl Rescales {
    /// Those of a rank's window. One after the step comes too late to count.
    pub(super) fn of(rank: &RankWindow) -> Self {
        let mut later = Vec::new();
        for (position, indexed) in rank.events.iter().enumerate() {
            match &indexed.event {
                Event::Rescale(rescale) => later.push((position, rescale.factor.get())),
                Event::OptimizerStep(_) => break,
                _ => {}
            }
        }
        let mut product = 1.0;
        for (_, factor) in later.iter_mut().rev() {
            product *= *factor;
            *factor = product;
        }
        Rescales { later }
    }

    /// The product of the factors that come after a position.
    pub(super) fn after(&self, position: usize) -> f64 {
        let next = self.later.partition_point(|&(at, _)| at <= position);
        self.later.get(next).map_or(1.0, |&(_, product)| product)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::sample::Run;
    use crate::ledger::sample::backward;
    use crate::ledger::sample::contract;
    use crate::ledger::sample::step;
    use serde_json::json;

    #[test]
    fn what_comes_after_a_point_and_before_the_step_counts() {
        let rescale = |factor: f64| json!({"rescale": {"factor": factor}});
        let events = vec![
            rescale(7.0),
            backward(0, "a", 1, 1.0, json!({})),
            rescale(2.0),
            backward(0, "b", 1, 1.0, json!({})),
            rescale(3.0),
            rescale(5.0),
            step(0),
            rescale(11.0),
        ];
        let run = Run::new(contract(json!({"accumulation_steps": 2})), vec![events]);
        let rescales = Rescales::of(&run.windows[0].ranks[0]);
        assert_eq!([1, 3, 4, 5, 7].map(|position| rescales.after(position)), [30.0, 15.0, 5.0, 1.0, 1.0]);
    }
}

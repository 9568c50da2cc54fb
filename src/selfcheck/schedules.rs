//! Recompute schedules: planned, and executed on a scalar chain.

use crate::autograd::recompute::binomial;
use crate::autograd::recompute::chain;
use crate::autograd::recompute::uniform::Uniform;
use crate::selfcheck::Answers;

pub(super) fn ask(answers: &mut Answers) {
    let uniform = Uniform::new(64, 8);
    let planned = (uniform.bound, uniform.replayed, Uniform::store_all(64));
    answers.equal("state model, 64 steps in eights: bound, transitions, store-all", (16, 56, 65), planned);
    let executed = chain::uniform(64, 8);
    answers.equal(
        "the same executed: most states alive, transitions",
        (16, 56),
        (executed.most_kept, executed.transitions),
    );
    answers.equal("store-all executed: most states alive", 65, chain::store_all(64).most_kept);
    let best: Vec<u64> = [16, 64, 256, 1024, 4096].map(|steps| Uniform::least_bound(steps).block).to_vec();
    answers.equal("best integer block of 16, 64, 256, 1024 and 4096 steps", vec![4, 8, 16, 32, 64], best);
    let mut apart = 0;
    for steps in 1..=64 {
        let derivative = chain::store_all(steps).derivative.to_bits();
        for block in 1..=steps {
            let (planned, executed) = (Uniform::new(steps, block), chain::uniform(steps, block));
            let is_equal = (executed.most_kept, executed.transitions) == (planned.live, planned.replayed);
            apart += usize::from(!is_equal || executed.derivative.to_bits() != derivative);
        }
    }
    answers.equal("chains up to 64 whose execution is not as planned, state model, every block", 0, apart);

    let known = [(10, 3), (24, 4), (64, 8), (100, 5)];
    let totals = known.map(|(steps, snapshots)| binomial::runs(steps, snapshots)).to_vec();
    answers.equal("tape model: T(10, 3), T(24, 4), T(64, 8), T(100, 5)", vec![25, 75, 201, 416], totals);
    let executed = known.map(|(steps, snapshots)| {
        let executed = chain::snapshots(steps, snapshots);
        executed.transitions + executed.taped
    });
    answers.equal("the same executed", vec![25, 75, 201, 416], executed.to_vec());
    let mut apart = 0;
    for steps in 1..=64 {
        let derivative = chain::store_all(steps).derivative.to_bits();
        for snapshots in 1..=steps {
            let executed = chain::snapshots(steps, snapshots);
            let is_planned = executed.transitions + executed.taped == binomial::runs(steps, snapshots);
            let is_within = executed.most_kept <= snapshots && executed.derivative.to_bits() == derivative;
            apart += usize::from(!is_planned || !is_within);
        }
    }
    answers.equal("chains up to 64 whose execution is not as planned, tape model, every number of snapshots", 0, apart);
}

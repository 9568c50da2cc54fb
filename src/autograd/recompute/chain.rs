//! A chain of scalar steps on which schedules are executed, and what they do is counted.
//!
//! Step i takes x to x + sin(x + i)/4, so that a wrong state, a wrong step or a wrong order changes the derivative's bits.
//! A schedule may only reverse step i from the very state that it computed for it.

use crate::autograd::recompute::binomial;
use crate::numeric::math;

/// What an executed schedule did and found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Executed {
    /// The derivative of x_L in x₀.
    pub derivative: f64,
    /// State model: transitions beyond the forward's. Tape model: runs without tape, the first sweep's among them.
    pub transitions: u64,
    /// Tape model: runs on the tape. State model: none.
    pub taped: u64,
    /// The most states (state model) or snapshots (tape model) at once.
    pub most_kept: u64,
}

/// Where every chain begins.
const INPUT: f64 = 0.3;

fn step(index: u64, x: f64) -> f64 {
    x + math::sin(x + index as f64) / 4.0
}

/// The derivative of step `index` at the state it began in, times the cotangent of its output.
fn reverse(index: u64, x: f64, ct: f64) -> f64 {
    ct * (1.0 + math::cos(x + index as f64) / 4.0)
}

/// States with their numbers, in the order in which they were kept.
#[derive(Default)]
struct Kept {
    states: Vec<(u64, f64)>,
    most: u64,
}

impl Kept {
    fn keep(&mut self, index: u64, x: f64) {
        self.states.push((index, x));
        self.most = self.most.max(self.states.len() as u64);
    }

    fn free(&mut self, index: u64) {
        let place = self.states.iter().position(|(other, _)| *other == index).expect("bug: a state freed twice");
        let _ = self.states.remove(place);
    }

    fn state(&self, index: u64) -> f64 {
        let found = self.states.iter().find(|(other, _)| *other == index);
        found.map(|(_, x)| *x).expect("bug: a state that is not kept")
    }
}

/// Every state kept: L + 1 of them, and nothing made again.
#[must_use]
pub fn store_all(steps: u64) -> Executed {
    let mut kept = Kept::default();
    kept.keep(0, INPUT);
    for index in 0..steps {
        kept.keep(index + 1, step(index, kept.state(index)));
    }
    let mut ct = 1.0;
    for index in (0..steps).rev() {
        ct = reverse(index, kept.state(index), ct);
        kept.free(index);
    }
    Executed { derivative: ct, most_kept: kept.most, ..Executed::default() }
}

/// The state model with uniform blocks.
///
/// # Panics
/// Where either is 0, which is a bug of the caller.
#[must_use]
pub fn uniform(steps: u64, block: u64) -> Executed {
    assert!(steps > 0 && block > 0, "bug: blocks of {block} of {steps} steps");
    let (mut kept, mut executed) = (Kept::default(), Executed::default());
    let mut x = INPUT;
    for index in 0..steps {
        if index.is_multiple_of(block) {
            kept.keep(index, x);
        }
        x = step(index, x);
    }
    kept.keep(steps, x);
    let mut ct = 1.0;
    for start in (0..steps).step_by(block as usize).collect::<Vec<_>>().into_iter().rev() {
        let end = steps.min(start + block);
        for index in start..end - 1 {
            kept.keep(index + 1, step(index, kept.state(index)));
            executed.transitions += 1;
        }
        for index in (start..end).rev() {
            ct = reverse(index, kept.state(index), ct);
            kept.free(index);
            if index + 1 == steps {
                kept.free(steps);
            }
        }
    }
    Executed { derivative: ct, most_kept: kept.most, ..executed }
}

/// The tape model with the binomial optimum: at most `snapshots` states, one step on the tape at a time.
///
/// # Panics
/// Where either is 0, which is a bug of the caller.
#[must_use]
pub fn snapshots(steps: u64, snapshots: u64) -> Executed {
    assert!(steps > 0 && snapshots > 0, "bug: {snapshots} snapshots of {steps} steps");
    let mut reversal = Reversal { kept: Kept::default(), executed: Executed::default(), ct: 1.0 };
    reversal.kept.keep(0, INPUT);
    reversal.run(0, steps, snapshots);
    Executed { derivative: reversal.ct, most_kept: reversal.kept.most, ..reversal.executed }
}

struct Reversal {
    kept: Kept,
    executed: Executed,
    ct: f64,
}

impl Reversal {
    /// Reverses the steps from `start`, whose state is a snapshot, to `end`, with that and `snapshots` − 1 more.
    fn run(&mut self, start: u64, mut end: u64, snapshots: u64) {
        while end - start > 1 {
            let middle = start + binomial::split(end - start, snapshots);
            let mut x = self.kept.state(start);
            for index in start..middle {
                x = step(index, x);
                self.executed.transitions += 1;
            }
            if snapshots > 1 {
                self.kept.keep(middle, x);
                self.run(middle, end, snapshots - 1);
                self.kept.free(middle);
            } else {
                self.reverse_on_tape(middle, x);
            }
            end = middle;
        }
        self.reverse_on_tape(start, self.kept.state(start));
    }

    fn reverse_on_tape(&mut self, index: u64, x: f64) {
        self.executed.taped += 1;
        self.ct = reverse(index, x, self.ct);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autograd::recompute::uniform::Uniform;

    #[test]
    fn uniform_blocks_do_what_is_planned() {
        for steps in 1..=130 {
            let all = store_all(steps);
            assert_eq!(all.most_kept, Uniform::store_all(steps));
            for block in 1..=steps + 2 {
                let (planned, executed) = (Uniform::new(steps, block), uniform(steps, block));
                assert_eq!(executed.derivative.to_bits(), all.derivative.to_bits(), "{steps} in {block}s");
                assert_eq!(executed.transitions, planned.replayed, "{steps} in {block}s");
                assert_eq!(executed.most_kept, planned.live, "{steps} in {block}s");
                assert!(planned.live <= planned.bound.min(Uniform::store_all(steps)), "{steps} in {block}s");
            }
        }
    }

    #[test]
    fn snapshots_do_what_is_planned() {
        for steps in 1..=64 {
            let all = store_all(steps);
            for count in 1..=steps + 1 {
                let executed = snapshots(steps, count);
                assert_eq!(executed.derivative.to_bits(), all.derivative.to_bits(), "{steps} with {count}");
                assert_eq!(executed.taped, steps);
                assert_eq!(executed.transitions + executed.taped, binomial::runs(steps, count), "T({steps}, {count})");
                assert!(executed.most_kept <= count, "{steps} with {count}: {}", executed.most_kept);
            }
        }
    }

    #[test]
    fn the_derivative_is_one() {
        let chain = |mut x: f64| {
            (0..12).for_each(|index| x = step(index, x));
            x
        };
        let difference = (chain(INPUT + 1e-6) - chain(INPUT - 1e-6)) / 2e-6;
        assert!((store_all(12).derivative - difference).abs() < 1e-8);
    }
}

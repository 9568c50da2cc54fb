//! Keeping every k-th state of a chain: the state model.
//!
//! State model: reversing step i needs its input state xᵢ alone, which is either kept or made again by transitions from an
//! earlier state; nothing runs on a tape. A chain of L steps has the states x₀ … x_L. Uniform blocks of k steps keep the
//! B = ⌈L/k⌉ block inputs, the boundaries; a block of l steps is reversed after l − 1 transitions from its boundary, so that
//! R = L − B transitions are replayed. Source: Chen et al., arXiv:1604.06174, §3.
//!
//! What is alive: a state from when it is made until the step that begins in it has been reversed (a boundary is then
//! consumed), and the output x_L, from which the first cotangent comes, until step L − 1 has been. Bound: B + k.

/// What reversing a chain in uniform blocks takes, in the state model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform {
    /// L.
    pub steps: u64,
    /// k.
    pub block: u64,
    /// B = ⌈L/k⌉ states that the forward keeps, the input among them.
    pub boundaries: u64,
    /// R = L − B transitions made again.
    pub replayed: u64,
    /// The bound B + k on states alive at once.
    pub bound: u64,
    /// The most states alive at once, exactly.
    pub live: u64,
}

impl Uniform {
    /// Uniform blocks of `block` of `steps` steps.
    ///
    /// # Panics
    /// Where either is 0, which is a bug of the caller.
    #[must_use]
    pub fn new(steps: u64, block: u64) -> Self {
        assert!(steps > 0 && block > 0, "bug: blocks of {block} of {steps} steps");
        let boundaries = steps.div_ceil(block);
        Self {
            steps,
            block,
            boundaries,
            replayed: steps - boundaries,
            bound: boundaries + block,
            live: most_alive(steps, block),
        }
    }

    /// States alive where every state is kept: L + 1.
    #[must_use]
    pub fn store_all(steps: u64) -> u64 {
        steps + 1
    }

    /// The blocks with the least bound, and among those with the fewest transitions made again.
    ///
    /// # Panics
    /// Where there is no step, which is a bug of the caller.
    #[must_use]
    pub fn least_bound(steps: u64) -> Self {
        Self::least(steps, |uniform| uniform.bound)
    }

    /// The blocks with the fewest states alive, and among those with the fewest transitions made again.
    ///
    /// # Panics
    /// Where there is no step, which is a bug of the caller.
    #[must_use]
    pub fn least_live(steps: u64) -> Self {
        Self::least(steps, |uniform| uniform.live)
    }

    fn least(steps: u64, cost: impl Fn(&Self) -> u64) -> Self {
        let plans = (1..=steps).map(|block| Self::new(steps, block));
        plans.min_by_key(|plan| (cost(plan), plan.replayed)).expect("bug: a chain without steps")
    }
}

/// The most states alive, block by block from the last: the boundaries that are left, the states made again, and with the
/// last block the output.
fn most_alive(steps: u64, block: u64) -> u64 {
    let boundaries = steps.div_ceil(block);
    let last = steps - (boundaries - 1) * block;
    let with_output = boundaries + (last - 1) + 1;
    // Of the full blocks the one that is reversed first has the most boundaries beside it.
    let full = if boundaries > 1 { boundaries - 1 + (block - 1) } else { 0 };
    with_output.max(full)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_four_steps_in_blocks_of_eight() {
        let uniform = Uniform::new(64, 8);
        assert_eq!((uniform.bound, uniform.live, uniform.replayed, uniform.boundaries), (16, 16, 56, 8));
        assert_eq!(Uniform::store_all(64), 65);
        assert_eq!(Uniform::new(64, 64).live, 65, "one block is to store all");
        assert_eq!(Uniform::new(64, 1).replayed, 0);
    }

    /// The least of ⌈L/k⌉ + k over whole k is ⌈2√L⌉.
    #[test]
    fn the_best_block_is_near_the_root() {
        for steps in 16..=4096_u64 {
            let best = Uniform::least_bound(steps);
            let least = (1..).find(|bound| bound * bound >= 4 * steps).unwrap();
            assert_eq!(best.bound, least, "{steps} steps");
            assert!(best.live <= best.bound);
        }
    }

    #[test]
    fn ties_go_to_the_fewest_transitions() {
        // 10 steps: blocks of 3 and 4 have the bound 7, with 6 and 7 transitions; so have blocks of 2, with 5.
        assert_eq!((Uniform::least_bound(10).block, Uniform::least_bound(10).replayed), (2, 5));
    }
}

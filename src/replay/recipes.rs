//! Known wrong recipes, each a function from one list of events to another.
//!
//! All of them begin from the window as the contract has it, so that each shows its own fault and no other, and all are
//! executed by the same interpreter on the run's own microbatches.
use super::machine::Sweep;
use super::script::Declared;
use super::script::Op;
use super::script::Pass;
use super::script::Script;
use super::script::Step;

/// A wrong recipe that is executed as a counterexample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recipe {
    /// c/(W·k·n) for each microbatch.
    MeanOfMeans,
    /// c/(W·K·n): a short window divided by K all the same.
    MeanOfMeansNominal,
    /// c/(W·N_r): every rank divides by its own targets.
    RankTokenMean,
    /// c/(N·k): divided by the microbatches once more.
    DividedTwice,
    /// c: not divided at all.
    Unnormalized,
    /// Clipped after every microbatch.
    ClipEachMicrobatch,
    /// Unscaled after the first microbatch, not after the last.
    UnscaleEarly,
    /// Cleared after the first microbatch.
    ZeroInsideWindow,
    /// Not cleared after the window before.
    ZeroForgotten,
    /// The scheduler ticks for every microbatch.
    SchedulerPerMicrobatch,
    /// The optimizer steps for every microbatch.
    StepPerMicrobatch,
    /// No backward all-reduces.
    SyncNever,
    /// Cotangents overwrite each other where a value is used twice: a fault of the engine, not of the events.
    OverwriteCotangent,
    /// Dropout draws through each microbatch and not row by row, so that the partition decides the masks: a fault of the
    /// engine too.
    RepartitionedDropout,
}

impl Recipe {
    /// Every one, in the order of the tables.
    pub const ALL: [Recipe; 14] = [
        Recipe::MeanOfMeans,
        Recipe::MeanOfMeansNominal,
        Recipe::RankTokenMean,
        Recipe::DividedTwice,
        Recipe::Unnormalized,
        Recipe::ClipEachMicrobatch,
        Recipe::UnscaleEarly,
        Recipe::ZeroInsideWindow,
        Recipe::ZeroForgotten,
        Recipe::SchedulerPerMicrobatch,
        Recipe::StepPerMicrobatch,
        Recipe::SyncNever,
        Recipe::OverwriteCotangent,
        Recipe::RepartitionedDropout,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Recipe::MeanOfMeans => "mean-of-means",
            Recipe::MeanOfMeansNominal => "mean-of-means-nominal",
            Recipe::RankTokenMean => "rank-token-mean",
            Recipe::DividedTwice => "divided-twice",
            Recipe::Unnormalized => "unnormalized",
            Recipe::ClipEachMicrobatch => "clip-each-microbatch",
            Recipe::UnscaleEarly => "unscale-early",
            Recipe::ZeroInsideWindow => "zero-inside-window",
            Recipe::ZeroForgotten => "zero-forgotten",
            Recipe::SchedulerPerMicrobatch => "scheduler-per-microbatch",
            Recipe::StepPerMicrobatch => "step-per-microbatch",
            Recipe::SyncNever => "sync-never",
            Recipe::OverwriteCotangent => "overwrite-cotangent",
            Recipe::RepartitionedDropout => "repartitioned-dropout",
        }
    }

    /// The recipe of that name.
    pub fn named(name: &str) -> Option<Recipe> {
        Recipe::ALL.into_iter().find(|recipe| recipe.name() == name)
    }

    /// The window under this recipe, from the window as declared; `None` where the recipe cannot differ there: there is
    /// one rank, nothing to clip or to unscale, no formula of the schedule.
    pub fn rewrite(self, declared: &Script) -> Option<Script> {
        let contract = &declared.declared;
        let ranks = declared.ranks.len();
        let rewritten = match self {
            Recipe::MeanOfMeans | Recipe::MeanOfMeansNominal | Recipe::DividedTwice | Recipe::Unnormalized => {
                self.reweight(declared)?
            }
            Recipe::RankTokenMean => (ranks > 1).then(|| self.reweight(declared)).flatten()?,
            Recipe::ClipEachMicrobatch => {
                after_each(declared, |_| (contract.clip != 1.0).then_some(vec![Op::Clip(contract.clip)]))?
            }
            Recipe::UnscaleEarly => unscale_early(declared)?,
            Recipe::ZeroInsideWindow => {
                after_each(declared, |at| Some(if at == 0 { vec![Op::ZeroGrad] } else { vec![] }))?
            }
            Recipe::ZeroForgotten | Recipe::OverwriteCotangent | Recipe::RepartitionedDropout => declared.clone(),
            Recipe::SchedulerPerMicrobatch => scheduler_per_microbatch(declared)?,
            Recipe::StepPerMicrobatch => step_per_microbatch(declared)?,
            Recipe::SyncNever => (ranks > 1).then(|| each_pass(declared, |_, pass| Pass { syncs: false, ..pass }))?,
        };
        Some(rewritten)
    }

    /// How cotangents and random words are treated under it.
    pub fn sweep(self) -> Sweep {
        match self {
            Recipe::OverwriteCotangent => Sweep::Overwriting,
            Recipe::RepartitionedDropout => Sweep::Repartitioned,
            _ => Sweep::Adding,
        }
    }

    /// Whether the window before has a part in the fault.
    pub fn begins_before(self) -> bool {
        self == Recipe::ZeroForgotten
    }

    /// The window before under a recipe that begins there.
    pub fn rewrite_before(self, before: &Script) -> Script {
        let without_zero = |ops: &Vec<Op>| ops.iter().filter(|op| **op != Op::ZeroGrad).copied().collect();
        Script { ranks: before.ranks.iter().map(without_zero).collect(), ..before.clone() }
    }

    /// What a recipe that only changes weights gives a microbatch; `None` for the others, and for a mean over no target.
    pub fn weight(self, rank: u64, pass: &Pass, declared: &Declared) -> Option<f64> {
        let counts = &declared.counts;
        let own = counts.ranks.get(rank as usize)?;
        let (c, w) = (counts.reduction as f64, counts.world_size as f64);
        let (n, k) = (pass.valid_targets as f64, own.microbatches as f64);
        let weight = match self {
            Recipe::MeanOfMeans => c / (w * k * n),
            Recipe::MeanOfMeansNominal => c / (w * counts.accumulation_steps as f64 * n),
            Recipe::RankTokenMean => c / (w * own.valid_targets as f64),
            Recipe::DividedTwice => c / (counts.valid_targets as f64 * k),
            Recipe::Unnormalized => c,
            _ => return None,
        };
        weight.is_finite().then_some(weight)
    }

    fn reweight(self, declared: &Script) -> Option<Script> {
        let weight = |rank, pass: &Pass| self.weight(rank, pass, &declared.declared);
        declared.passes().all(|(rank, pass)| weight(rank, pass).is_some()).then(|| {
            each_pass(declared, |rank, pass| Pass { weight: weight(rank, &pass).unwrap_or(pass.weight), ..pass })
        })
    }
}

/// The script with every microbatch changed.
fn each_pass(script: &Script, change: impl Fn(u64, Pass) -> Pass) -> Script {
    let rank = |(rank, ops): (usize, &Vec<Op>)| {
        let change = |op: &Op| op.pass().map_or(*op, |pass| Op::Backward(change(rank as u64, *pass)));
        ops.iter().map(change).collect()
    };
    Script { ranks: script.ranks.iter().enumerate().map(rank).collect(), ..script.clone() }
}

/// The script with something after each backward but the last of a rank, by index; `None` where nothing is to be put
/// in, or no rank has two microbatches.
fn after_each(script: &Script, insert: impl Fn(usize) -> Option<Vec<Op>>) -> Option<Script> {
    let mut changed = false;
    let mut rank = |ops: &Vec<Op>| {
        let backwards = ops.iter().filter(|op| op.pass().is_some()).count();
        let mut out = Vec::with_capacity(2 * ops.len());
        let mut at = 0;
        for op in ops {
            out.push(*op);
            if op.pass().is_some() {
                if at + 1 < backwards {
                    out.extend(insert(at)?);
                    changed = true;
                }
                at += 1;
            }
        }
        Some(out)
    };
    let ranks = script.ranks.iter().map(&mut rank).collect::<Option<Vec<_>>>()?;
    changed.then(|| Script { ranks, ..script.clone() })
}

fn unscale_early(script: &Script) -> Option<Script> {
    let scale = script.declared.loss_scale;
    let each = after_each(script, |_| (scale != 1.0).then(|| vec![Op::Unscale(scale)]))?;
    // The first is left, and stands after the first microbatch of a rank that has two.
    let once = |ops: Vec<Op>| {
        let mut seen = false;
        let first = |op: &Op| !matches!(op, Op::Unscale(_)) || !std::mem::replace(&mut seen, true);
        ops.into_iter().filter(first).collect()
    };
    Some(Script { ranks: each.ranks.into_iter().map(once).collect(), ..each })
}

/// The step's rate after as many ticks in every window so far as it has microbatches.
fn scheduler_per_microbatch(script: &Script) -> Option<Script> {
    let (_, index) = script.declared.schedule?;
    let k = script.declared.counts.microbatches;
    let rate = script.declared.rate_after(index.saturating_mul(k).saturating_add(k) - index - 1)?;
    let change = |op: &Op| match op {
        Op::Step(step) => Op::Step(Step { learning_rate: rate, ..*step }),
        _ => *op,
    };
    let ranks = script.ranks.iter().map(|ops| ops.iter().map(change).collect()).collect();
    Some(Script { ranks, ..script.clone() })
}

/// Every microbatch is all-reduced, unscaled, clipped, stepped and cleared by itself.
fn step_per_microbatch(script: &Script) -> Option<Script> {
    let synced = script.ranks.len() > 1;
    let alone = each_pass(script, |_, pass| Pass { syncs: synced, ..pass });
    let tail = |ops: &Vec<Op>| -> Vec<Op> { ops.iter().filter(|op| op.pass().is_none()).copied().collect() };
    let tail = alone.ranks.first().map(tail)?;
    after_each(&alone, |_| Some(tail.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::script::tests::scripts;

    #[test]
    fn each_weight_is_the_formula_of_its_description() {
        // c and W are 2, N is 17 and K is 3; the first rank has k of 2 and 9 targets.
        let window = scripts(0, &[&[3, 6], &[1, 2, 5]]);
        let first = window.ranks[0][0].pass().expect("a backward");
        for (recipe, weight) in [
            (Recipe::MeanOfMeans, 2.0 / (2.0 * 2.0 * 3.0)),
            (Recipe::MeanOfMeansNominal, 2.0 / (2.0 * 3.0 * 3.0)),
            (Recipe::RankTokenMean, 2.0 / (2.0 * 9.0)),
            (Recipe::DividedTwice, 2.0 / (17.0 * 2.0)),
            (Recipe::Unnormalized, 2.0),
        ] {
            assert_eq!(recipe.weight(0, first, &window.declared), Some(weight), "{recipe:?}");
            let rewritten = recipe.rewrite(&window).expect("another window");
            assert_eq!(rewritten.ranks[0][0].pass().expect("a backward").weight, weight, "{recipe:?}");
        }
        assert_eq!(Recipe::SyncNever.weight(0, first, &window.declared), None);
    }

    /// A letter for each operation, small for a backward that does not all-reduce.
    fn order(script: &Script) -> Vec<String> {
        let letter = |op: &Op| match op {
            Op::Backward(pass) if pass.syncs => 'B',
            Op::Backward(_) => 'b',
            Op::ZeroGrad => 'Z',
            Op::Unscale(scale) if *scale == 8.0 => 'U',
            Op::Clip(coefficient) if *coefficient == 0.5 => 'C',
            Op::Step(_) => 'S',
            _ => '?',
        };
        script.ranks.iter().map(|ops| ops.iter().map(letter).collect()).collect()
    }

    #[test]
    fn each_order_is_the_one_of_its_description() {
        let mut window = scripts(0, &[&[3, 6, 2], &[1, 2]]);
        (window.declared.loss_scale, window.declared.clip) = (8.0, 0.5);
        let window = window.as_declared();
        assert_eq!(order(&window), ["bbBUCSZ", "bBUCSZ"]);
        for (recipe, rewritten) in [
            (Recipe::ClipEachMicrobatch, ["bCbCBUCSZ", "bCBUCSZ"]),
            (Recipe::UnscaleEarly, ["bUbBCSZ", "bUBCSZ"]),
            (Recipe::ZeroInsideWindow, ["bZbBUCSZ", "bZBUCSZ"]),
            (Recipe::StepPerMicrobatch, ["BUCSZBUCSZBUCSZ", "BUCSZBUCSZ"]),
            (Recipe::SyncNever, ["bbbUCSZ", "bbUCSZ"]),
            (Recipe::ZeroForgotten, ["bbBUCSZ", "bBUCSZ"]),
        ] {
            assert_eq!(order(&recipe.rewrite(&window).expect("another window")), rewritten, "{recipe:?}");
        }
        assert_eq!(order(&Recipe::ZeroForgotten.rewrite_before(&window)), ["bbBUCS", "bBUCS"]);
    }
}

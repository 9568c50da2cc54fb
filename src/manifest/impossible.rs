//! What is of the right shape and yet can't be meant: GA118.
use crate::canonical::Count;
use crate::canonical::Finite;
use crate::finding::Code;
use crate::manifest::contract::AccumulationSteps;
use crate::manifest::contract::Contract;
use crate::manifest::contract::LossScale;
use crate::manifest::contract::Optimizer;
use crate::manifest::contract::Scheduler;
use crate::manifest::explain::Fault;
use crate::manifest::limits::RANKS;
use crate::manifest::limits::VECTOR;
use crate::manifest::read::terms::Dimension;
use crate::manifest::replay::Recompute;
use crate::manifest::replay::ReplayOptions;
use crate::manifest::resume::Resume;
use std::collections::BTreeSet;

/// Collects what is wrong below one pointer.
struct Checks {
    below: &'static str,
    faults: Vec<Fault>,
}

impl Checks {
    fn new(below: &'static str) -> Self {
        Checks { below, faults: Vec::new() }
    }

    fn refuse(&mut self, code: Code, field: &str, message: String) {
        self.faults.push(Fault::new(code, format!("{}{field}", self.below), message, 0..0));
    }

    /// Says what has to hold.
    fn demand(&mut self, holds: bool, field: &str, message: impl FnOnce() -> String) {
        if !holds {
            self.refuse(Code::GA118, field, message());
        }
    }

    fn at_least_one(&mut self, field: &str, value: Count) {
        self.demand(value.get() >= 1, field, || "0, where at least 1 is needed".to_owned());
    }

    fn positive(&mut self, field: &str, value: Finite) {
        self.demand(value.get() > 0.0, field, || format!("{value}, where a positive number is needed"));
    }

    fn not_negative(&mut self, field: &str, value: Finite) {
        self.demand(value.get() >= 0.0, field, || format!("{value}, where a number that is not negative is needed"));
    }

    fn below_one(&mut self, field: &str, value: Finite) {
        let holds = (0.0..1.0).contains(&value.get());
        self.demand(holds, field, || format!("{value}, where a number from 0 to less than 1 is needed"));
    }
}

/// What is impossible in a contract; pointers begin with `/contract`.
pub(crate) fn contract(contract: &Contract) -> Vec<Fault> {
    let mut checks = Checks::new("/contract");
    steps(&contract.accumulation_steps, &mut checks);
    let ranks = contract.world_size;
    checks.at_least_one("/world_size", ranks);
    if ranks.get() > RANKS {
        checks.refuse(Code::GA115, "/world_size", format!("{ranks} ranks, beyond the limit of {RANKS}"));
    }
    checks.not_negative("/tolerance/absolute", contract.tolerance.absolute);
    checks.not_negative("/tolerance/relative", contract.tolerance.relative);
    checks.demand(ranks.get() <= 1 || contract.gradient_reduction.is_some(), "", || {
        format!("world_size is {ranks}, but gradient_reduction does not say how ranks' gradients are combined")
    });
    if let Some(dimension) = contract.gradient_basis.map(|basis| basis.dimension()) {
        checks.demand(dimension > 0, "/gradient_basis/dimension", || "0, where at least 1 is needed".to_owned());
        if dimension > VECTOR as u64 {
            let message = format!("dimension {dimension}, beyond the limit of {VECTOR}");
            checks.refuse(Code::GA115, "/gradient_basis/dimension", message);
        }
    }
    if let Some(scale) = &contract.loss_scale {
        loss_scale(scale, &mut checks);
    }
    if let Some(clip) = contract.clip {
        checks.positive("/clip/max_norm", clip.max_norm);
    }
    if let Some(optimizer) = &contract.optimizer {
        optimizer_constants(optimizer, &mut checks);
    }
    if let Some(scheduler) = &contract.scheduler {
        schedule(scheduler, &mut checks);
    }
    checks.faults
}

fn steps(steps: &AccumulationSteps, checks: &mut Checks) {
    let stages = match steps {
        AccumulationSteps::Constant(steps) => return checks.at_least_one("/accumulation_steps", *steps),
        AccumulationSteps::Stages(stages) => stages,
    };
    checks.demand(!stages.is_empty(), "/accumulation_steps", || "no stage at all".to_owned());
    let mut previous = None;
    for (index, stage) in stages.iter().enumerate() {
        checks.at_least_one(&format!("/accumulation_steps/{index}/steps"), stage.steps);
        let from = stage.from_window;
        let field = format!("/accumulation_steps/{index}/from_window");
        match previous {
            None => checks.demand(from.get() == 0, &field, || format!("the first stage is from window {from}, not 0")),
            Some(before) => checks.demand(from > before, &field, || {
                format!("the stage from window {from} stands after the one from window {before}")
            }),
        }
        previous = Some(from);
    }
}

fn loss_scale(scale: &LossScale, checks: &mut Checks) {
    let (initial, minimum, maximum) = match *scale {
        LossScale::Static { value } => return checks.positive("/loss_scale/value", value),
        LossScale::Dynamic {
            initial,
            growth_factor,
            backoff_factor,
            growth_interval,
            hysteresis,
            minimum,
            maximum,
            ..
        } => {
            checks.positive("/loss_scale/initial", initial);
            checks.demand(growth_factor.get() > 1.0, "/loss_scale/growth_factor", || {
                format!("{growth_factor}, where a number above 1 is needed")
            });
            checks.demand(
                (0.0..1.0).contains(&backoff_factor.get()) && backoff_factor.get() > 0.0,
                "/loss_scale/backoff_factor",
                || format!("{backoff_factor}, where a number between 0 and 1 is needed"),
            );
            checks.at_least_one("/loss_scale/growth_interval", growth_interval);
            checks.at_least_one("/loss_scale/hysteresis", hysteresis);
            (initial, minimum, maximum)
        }
    };
    if let Some(minimum) = minimum {
        checks.positive("/loss_scale/minimum", minimum);
        checks.demand(minimum <= initial, "/loss_scale/minimum", || format!("{minimum}, above the initial {initial}"));
    }
    if let Some(maximum) = maximum {
        checks.positive("/loss_scale/maximum", maximum);
        checks.demand(initial <= maximum, "/loss_scale/maximum", || format!("{maximum}, below the initial {initial}"));
    }
}

fn optimizer_constants(optimizer: &Optimizer, checks: &mut Checks) {
    let (learning_rate, weight_decay) = match *optimizer {
        Optimizer::Adamw { learning_rate, beta1, beta2, epsilon, weight_decay } => {
            checks.below_one("/optimizer/beta1", beta1);
            checks.below_one("/optimizer/beta2", beta2);
            checks.not_negative("/optimizer/epsilon", epsilon);
            (learning_rate, weight_decay)
        }
        Optimizer::Sgd { learning_rate, momentum, weight_decay } => {
            checks.not_negative("/optimizer/momentum", momentum);
            (learning_rate, weight_decay)
        }
    };
    checks.not_negative("/optimizer/learning_rate", learning_rate);
    checks.not_negative("/optimizer/weight_decay", weight_decay);
}

fn schedule(scheduler: &Scheduler, checks: &mut Checks) {
    let ticks = scheduler.clock().ticks;
    checks.demand(ticks >= 1, "/scheduler/ticks", || "0, where at least 1 is needed".to_owned());
    let (peak, line) = match *scheduler {
        Scheduler::Recorded { .. } => return,
        Scheduler::Constant { peak, .. } => (peak, None),
        Scheduler::Linear { peak, warmup_steps, total_steps, .. } => (peak, Some((warmup_steps, total_steps))),
        Scheduler::Cosine { peak, warmup_steps, total_steps, floor, .. } => {
            checks.not_negative("/scheduler/floor", floor);
            checks.demand(floor <= peak, "/scheduler/floor", || format!("{floor}, above the peak {peak}"));
            (peak, Some((warmup_steps, total_steps)))
        }
    };
    checks.not_negative("/scheduler/peak", peak);
    if let Some((warmup, total)) = line {
        checks.at_least_one("/scheduler/total_steps", total);
        checks.demand(warmup <= total, "/scheduler/warmup_steps", || {
            format!("{warmup}, more than the {total} total_steps")
        });
    }
}

/// What is impossible in the options of the replay; pointers begin with `/replay`.
pub(crate) fn replay(options: &ReplayOptions) -> Vec<Fault> {
    let mut checks = Checks::new("/replay");
    let ReplayOptions { blocks, context, dropout, feed_forward, heads, recompute, vocabulary, width, .. } = *options;
    for (field, value) in [
        ("/blocks", blocks),
        ("/context", context),
        ("/feed_forward", feed_forward),
        ("/heads", heads),
        ("/width", width),
    ] {
        checks.at_least_one(field, value);
    }
    checks.below_one("/dropout", dropout);
    checks.demand(vocabulary.get() >= 258, "/vocabulary", || {
        format!("{vocabulary}, where the bytes and two marks of the synthetic rows need 258")
    });
    let head = width.get().checked_div(heads.get());
    checks.demand(
        head.is_none_or(|head| head * heads.get() == width.get() && head.is_multiple_of(2)),
        "/width",
        || format!("{width}, where the {heads} heads need an even number of it each"),
    );
    match recompute {
        Recompute::Every(steps) => checks.at_least_one("/recompute/every", steps),
        Recompute::Snapshots(snapshots) => checks.at_least_one("/recompute/snapshots", snapshots),
        Recompute::None | Recompute::Blocks => {}
    }
    checks.faults
}

/// What is impossible in a carried window; pointers begin with `/resume`.
pub(crate) fn resume(resume: &Resume, contract: Option<&Contract>) -> Vec<Fault> {
    let dimension = Dimension::from(contract);
    let mut checks = Checks::new("/resume");
    let size = contract.map(|contract| contract.world_size.get());
    let mut seen = BTreeSet::new();
    for (index, carried) in resume.ranks.iter().enumerate() {
        let rank = carried.rank.get();
        let field = format!("/ranks/{index}/rank");
        if let Some(size) = size.filter(|&size| rank >= size) {
            checks.refuse(Code::GA110, &field, format!("rank {rank}, where world_size is {size}"));
        } else if !seen.insert(rank) {
            checks.refuse(Code::GA110, &field, format!("rank {rank} is there twice"));
        }
        for (number, microbatch) in carried.microbatches.iter().enumerate() {
            let length = microbatch.gradient_sum.as_ref().map(|vector| vector.len());
            if let Some(message) = length.and_then(|length| dimension.refuse(length)) {
                let field = format!("/ranks/{index}/microbatches/{number}/gradient_sum");
                checks.refuse(Code::GA109, &field, message);
            }
        }
    }
    checks.faults
}

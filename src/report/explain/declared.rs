//! What was declared: the contract in words.
use crate::manifest::contract::AccumulationSteps;
use crate::manifest::contract::Contract;
use crate::manifest::contract::Interval;
use crate::manifest::contract::LossScale;
use crate::manifest::contract::NumeratorSource;
use crate::manifest::contract::Optimizer;
use crate::manifest::contract::Position;
use crate::manifest::contract::Reduction;
use crate::manifest::contract::Scheduler;
use crate::manifest::contract::Tail;
use crate::numeric::rounding::Arithmetic;
use crate::receipt::document::Receipt;
use crate::report::layout::Block;
use crate::report::layout::Line;
use crate::report::layout::Section;
use crate::report::number;
use crate::report::recipes;
use crate::report::words;

/// What was declared; absent where no contract could be read.
pub(super) fn section(receipt: &Receipt) -> Option<Section> {
    let contract = receipt.contract.as_ref()?;
    let mut facts = vec![
        ("formula", formula(contract)),
        ("windows", windows(contract).into()),
        ("ranks", ranks(contract).into()),
        ("precision", precision(contract).into()),
    ];
    let mut more = |subject, text: Option<String>| facts.extend(text.map(|text| (subject, Line::from(text))));
    more("clip", contract.clip.map(|clip| format!("global L2 norm of at most {}", number::exact(clip.max_norm.get()))));
    more("loss scale", contract.loss_scale.as_ref().map(loss_scale));
    more("optimizer", contract.optimizer.as_ref().map(optimizer));
    more("scheduler", contract.scheduler.as_ref().map(scheduler));
    more("numerators", contract.numerator_source.map(numerators));
    let listed = |words: Vec<&str>| Some(words.join(", ")).filter(|words| !words.is_empty());
    more("required", listed(contract.require.iter().map(|kind| kind.as_str()).collect()));
    more("not observed", listed(contract.unobserved.iter().map(|kind| kind.as_str()).collect()));
    let software = contract.software.iter().map(|(name, version)| format!("{} {}", name.as_str(), version.as_str()));
    more("software", Some(software.collect::<Vec<_>>().join(", ")).filter(|software| !software.is_empty()));
    Some(Section::new("What was declared").with(Block::Facts(facts)))
}

fn formula(contract: &Contract) -> Line {
    let name = contract.formula.as_str();
    let line = Line::new().name(name);
    match recipes::declared(name) {
        Some(recipe) if recipe.name == "token-mean" => {
            line.text(", weight c/N: every valid target of the window counts the same")
        }
        Some(recipe) => line.text(format!(", weight {}", recipe.formula)),
        None => line,
    }
}

fn windows(contract: &Contract) -> String {
    let (steps, make) = match &contract.accumulation_steps {
        AccumulationSteps::Constant(steps) => {
            (words::count(steps.get(), "microbatch"), if steps.get() == 1 { "makes" } else { "make" })
        }
        AccumulationSteps::Stages(stages) => {
            let stage = |stage: &crate::manifest::contract::Stage| {
                format!("{} from window {}", words::count(stage.steps.get(), "microbatch"), stage.from_window)
            };
            (stages.iter().map(stage).collect::<Vec<_>>().join(", "), "make")
        }
    };
    let tail = match contract.tail {
        Tail::Flush => "stepped with its own count (flush)",
        Tail::Carry => "kept for the next epoch or run (carry)",
        Tail::Drop => "thrown away (drop)",
    };
    format!("{steps} on each rank {make} an update; a short window at the end of the data is {tail}")
}

fn ranks(contract: &Contract) -> String {
    let world_size = contract.world_size.get();
    let reduction = match contract.gradient_reduction {
        Some(Reduction::Mean) if world_size > 1 => ", gradients averaged over them",
        Some(Reduction::Sum) if world_size > 1 => ", gradients summed over them",
        _ => "",
    };
    let synchronize = match contract.synchronize {
        Some(when) if world_size > 1 => format!(", all-reduce in the {} microbatch", when.as_str()),
        _ => String::new(),
    };
    format!("{world_size}{reduction}{synchronize}")
}

fn precision(contract: &Contract) -> String {
    let loss = match contract.loss_arithmetic() {
        loss if loss == contract.precision => String::new(),
        loss => format!(", loss in {}", arithmetic(loss)),
    };
    let tolerance = contract.tolerance;
    format!(
        "{}{loss}; a difference up to {} + {} · |reference| is accepted",
        arithmetic(contract.precision),
        number::exact(tolerance.absolute.get()),
        number::exact(tolerance.relative.get())
    )
}

/// The name of an arithmetic, as a contract writes it.
pub(super) fn arithmetic(arithmetic: Arithmetic) -> &'static str {
    match arithmetic {
        Arithmetic::Float64 => "float64",
        Arithmetic::Float32 => "float32",
        Arithmetic::Bfloat16 => "bfloat16",
        Arithmetic::Float16 => "float16",
    }
}

fn loss_scale(scale: &LossScale) -> String {
    let [text, rest] = match *scale {
        LossScale::Static { value } => [format!("static, {}", number::exact(value.get())), String::new()],
        LossScale::Dynamic { initial, growth_factor, backoff_factor, growth_interval, .. } => [
            format!("dynamic from {}", number::exact(initial.get())),
            format!(
                ", × {} after {} in a row, × {} on overflow",
                number::exact(growth_factor.get()),
                words::count(growth_interval.get(), "clean window"),
                number::exact(backoff_factor.get())
            ),
        ],
    };
    text + &rest
}

fn optimizer(optimizer: &Optimizer) -> String {
    match *optimizer {
        Optimizer::Adamw { learning_rate, beta1, beta2, epsilon, weight_decay } => format!(
            "AdamW, learning rate {}, betas {} and {}, epsilon {}, weight decay {}",
            number::exact(learning_rate.get()),
            number::exact(beta1.get()),
            number::exact(beta2.get()),
            number::exact(epsilon.get()),
            number::exact(weight_decay.get())
        ),
        Optimizer::Sgd { learning_rate, momentum, weight_decay } => format!(
            "SGD, learning rate {}, momentum {}, weight decay {}",
            number::exact(learning_rate.get()),
            number::exact(momentum.get()),
            number::exact(weight_decay.get())
        ),
    }
}

fn scheduler(scheduler: &Scheduler) -> String {
    let shape = match *scheduler {
        Scheduler::Constant { peak, .. } => format!("constant, {}", number::exact(peak.get())),
        Scheduler::Linear { peak, warmup_steps, total_steps, .. } => {
            format!("linear, {} after {warmup_steps} steps, 0 after {total_steps}", number::exact(peak.get()))
        }
        Scheduler::Cosine { peak, warmup_steps, total_steps, floor, .. } => format!(
            "cosine, {} after {warmup_steps} steps, {} after {total_steps}",
            number::exact(peak.get()),
            number::exact(floor.get())
        ),
        Scheduler::Recorded { .. } => "its rates are taken as recorded".to_owned(),
    };
    let clock = scheduler.clock();
    let interval = match clock.interval {
        Interval::Update => "update",
        Interval::Epoch => "epoch",
    };
    let side = match clock.position {
        Position::After => "after",
        Position::Before => "before",
    };
    format!("{shape}; {} {side} each {interval}", words::count(clock.ticks, "tick"))
}

fn numerators(source: NumeratorSource) -> String {
    match source {
        NumeratorSource::Recomputed => "summed losses recomputed from the logits".to_owned(),
        NumeratorSource::ScaledLoss => "summed losses are the framework's loss times its divisor".to_owned(),
    }
}

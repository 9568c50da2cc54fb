//! Runs made by a recipe, with weights worked out here and nowhere else.
use crate::ledger::base::Base;
use crate::ledger::diagnosis::recipe::Factor;
use crate::ledger::diagnosis::recipe::Recipe;
use crate::ledger::sample::Run;
use crate::ledger::sample::contract;
use serde_json::Value;
use serde_json::json;

/// A microbatch as the run's data has it.
#[derive(Clone, Copy)]
struct Data {
    n: u64,
    u: u64,
    rows: u64,
    slots: u64,
    loss: f64,
    gradient: [f64; 2],
}

/// What is varied.
#[derive(Clone, Copy)]
pub(super) struct Options {
    pub(super) ranks: usize,
    pub(super) mean: bool,
    /// Microbatches in each window.
    pub(super) windows: &'static [usize],
    /// The same n everywhere.
    pub(super) equal: bool,
    /// As if computed in float32.
    pub(super) single: bool,
    /// Later rescale, and what is put into the backward losses to undo it.
    pub(super) rescale: Option<f64>,
    pub(super) auxiliary: bool,
    pub(super) weights: bool,
    pub(super) logged: bool,
    pub(super) gradient: bool,
    pub(super) norm: bool,
    pub(super) accumulated: bool,
}

impl Options {
    fn round(self, value: f64) -> f64 {
        if self.single { f64::from(value as f32) } else { value }
    }
}

pub(super) const PLAIN: Options = Options {
    ranks: 1,
    mean: true,
    windows: &[4, 4, 4, 2],
    equal: false,
    single: false,
    rescale: None,
    auxiliary: false,
    weights: true,
    logged: true,
    gradient: false,
    norm: false,
    accumulated: false,
};
pub(super) const K: f64 = 4.0;

/// Data by window, rank and backward; numbers that have nothing to do with each other.
fn data(options: Options) -> Vec<Vec<Vec<Data>>> {
    let mut state = 12_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut microbatch = |rank: usize| {
        let n = if options.equal { 7 } else { 3 + next(20) + 7 * rank as u64 };
        let rows = 1 + next(4);
        let u = n + 1 + next(rows);
        let loss = n as f64 * (3.0 + next(1000) as f64 / 1000.0);
        let gradient = [next(512) as f64 / 64.0 - 4.0, next(512) as f64 / 64.0 - 4.0];
        Data { n, u, rows, slots: u + 3 + next(20), loss, gradient }
    };
    let rank = |rank, k: usize, microbatch: &mut dyn FnMut(usize) -> Data| (0..k).map(|_| microbatch(rank)).collect();
    let window = |&k: &usize| (0..options.ranks).map(|r| rank(r, k, &mut microbatch)).collect();
    options.windows.iter().map(window).collect()
}

/// f, straight from the table of MANIFEST.md §6.
fn weight(base: Base, window: &[Vec<Data>], previous: Option<u64>, rank: usize, index: usize, mean: bool) -> f64 {
    let ranks = window.len() as f64;
    let c = if mean { ranks } else { 1.0 };
    let all = || window.iter().flatten();
    let sum = |of: fn(&Data) -> u64| all().map(of).sum::<u64>() as f64;
    let own = |of: fn(&Data) -> u64| window[rank].iter().map(of).sum::<u64>() as f64;
    let this = window[rank][index];
    let (n, k) = (this.n as f64, window[rank].len() as f64);
    match base {
        Base::TokenMean | Base::LastMicrobatchOnly | Base::FirstMicrobatchOnly => c / sum(|d| d.n),
        Base::MeanOfMeans => c / (ranks * k * n),
        Base::RankTokenMean => c / (ranks * own(|d| d.n)),
        Base::MicrobatchGlobalMean => c / (k * window.iter().map(|r| r[index].n).sum::<u64>() as f64),
        Base::UnshiftedCount => c / sum(|d| d.u),
        Base::RankUnshiftedCount => c / (ranks * own(|d| d.u)),
        Base::UnshiftedWeightedMeans => c * this.u as f64 / (n * sum(|d| d.u)),
        Base::SlotMean => c / sum(|d| d.slots),
        Base::RowWeighted => c * this.rows as f64 / (sum(|d| d.rows) * n),
        Base::StaleDenominator => c / previous.unwrap_or(99) as f64,
        Base::Unnormalized => c,
    }
}

fn factor(factor: Factor, k: f64, ranks: f64) -> f64 {
    match factor {
        Factor::One => 1.0,
        Factor::TimesNominal => K,
        Factor::OverNominal => 1.0 / K,
        Factor::TimesActual => k,
        Factor::OverActual => 1.0 / k,
        Factor::ActualOverNominal => k / K,
        Factor::TimesRanks => ranks,
        Factor::OverRanks => 1.0 / ranks,
    }
}

/// A run that follows a recipe.
pub(super) fn run(recipe: Recipe, options: Options) -> Run {
    run_with(recipe, options, json!({}))
}

pub(super) fn run_with(recipe: Recipe, options: Options, declared: Value) -> Run {
    let mut ranks = vec![Vec::new(); options.ranks];
    let mut previous = None;
    for (number, window) in data(options).iter().enumerate() {
        let made = Made::by(recipe, options, window, previous);
        for (rank, events) in ranks.iter_mut().enumerate() {
            for index in 0..window[rank].len() {
                events.push(json!({"backward": made.backward(options, window, (number, rank, index))}));
            }
            if let Some(factor) = options.rescale {
                events.push(json!({"rescale": {"factor": factor}}));
            }
            events.push(json!({"logged": made.logged(options, number)}));
            events.push(json!({"optimizer_step": {"window": number, "outcome": "applied"}}));
            events.push(json!("zero_grad"));
        }
        previous = Some(window.iter().flatten().map(|data| data.n).sum());
    }
    let relative = if options.single { 1e-5 } else { 1e-10 };
    let mut with = json!({
        "accumulation_steps": 4, "world_size": options.ranks, "precision": "float32", "loss_precision": "float32",
        "gradient_reduction": if options.mean { "mean" } else { "sum" },
        "gradient_basis": {"kind": "complete", "dimension": 2},
        "tolerance": {"absolute": relative / 10.0, "relative": relative},
    });
    with.as_object_mut().expect("an object").extend(declared.as_object().expect("an object").clone());
    Run::new(contract(with), ranks)
}

/// What a recipe makes of a window.
struct Made {
    /// By rank and backward.
    weights: Vec<Vec<f64>>,
    /// What each backward leaves in its rank's buffers, after every rescale and before any all-reduce.
    buffers: Vec<Vec<[f64; 2]>>,
    loss: f64,
    gradient: [f64; 2],
}

impl Made {
    fn by(recipe: Recipe, options: Options, window: &[Vec<Data>], previous: Option<u64>) -> Self {
        let c = if options.mean { options.ranks as f64 } else { 1.0 };
        let times = factor(recipe.factor, window[0].len() as f64, options.ranks as f64);
        let mut made = Made { weights: Vec::new(), buffers: Vec::new(), loss: 0.0, gradient: [0.0; 2] };
        for (rank, microbatches) in window.iter().enumerate() {
            let (mut weights, mut buffers, mut held) = (Vec::new(), Vec::new(), [0.0; 2]);
            for (index, data) in microbatches.iter().enumerate() {
                let f = times * weight(recipe.base, window, previous, rank, index, options.mean);
                made.loss += options.round(f * data.loss) / c;
                held = std::array::from_fn(|element| match recipe.base {
                    Base::LastMicrobatchOnly => f * data.gradient[element],
                    Base::FirstMicrobatchOnly if index > 0 => held[element],
                    _ => held[element] + f * data.gradient[element],
                });
                weights.push(f);
                buffers.push(held);
            }
            made.gradient = std::array::from_fn(|element| made.gradient[element] + held[element] / c);
            made.weights.push(weights);
            made.buffers.push(buffers);
        }
        made
    }

    fn backward(&self, options: Options, window: &[Vec<Data>], at: (usize, usize, usize)) -> Value {
        let (number, rank, index) = at;
        let data = window[rank][index];
        let is_last = index + 1 == window[rank].len();
        let later = options.rescale.unwrap_or(1.0);
        let mut fields = json!({
            "window": number, "microbatch": format!("w{number}-r{rank}-m{index}"), "valid_targets": data.n,
            "loss_sum": data.loss, "rows": data.rows, "slots": data.slots, "unshifted_targets": data.u,
        });
        let auxiliary = if options.auxiliary { 0.25 } else { 0.0 };
        if options.weights {
            let loss = options.round(self.weights[rank][index] * data.loss / later);
            fields["backward_loss"] = json!(loss + auxiliary);
        }
        if options.auxiliary {
            fields["auxiliary_loss"] = json!(auxiliary);
        }
        if options.ranks > 1 {
            fields["sync"] = json!(is_last);
        }
        if options.gradient || options.norm || options.accumulated {
            fields["gradient_sum"] = json!(data.gradient);
        }
        if options.accumulated && (options.ranks == 1 || !is_last) {
            fields["accumulated"] = json!(self.buffers[rank][index].map(|value| options.round(value / later)));
        }
        fields
    }

    fn logged(&self, options: Options, number: usize) -> Value {
        let mut logged = json!({"window": number});
        if options.logged {
            logged["loss"] = json!(self.loss);
        }
        if options.gradient {
            logged["gradient"] = json!(self.gradient.map(|value| options.round(value)));
        }
        if options.norm {
            logged["grad_norm"] = json!(options.round(self.gradient[0].hypot(self.gradient[1])));
        }
        logged
    }
}

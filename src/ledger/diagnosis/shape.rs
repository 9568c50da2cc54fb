//! What the weights of a window look like by themselves, for when no recipe explains them.
use crate::ledger::weights::OWN_ROUNDING;
use crate::ledger::window::WindowLedger;
use crate::numeric::rounding::Arithmetic;
use crate::numeric::rounding::plausible_bound;

/// Windows of one shape that are named.
const NAMED: usize = 8;

/// What a window's weights look like.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// All equal: c/D for an effective denominator D.
    Equal(f64),
    /// Equal in groups: effective denominators and how many microbatches have each.
    Groups(Vec<(f64, u64)>),
    /// Proportional to 1/n: so many times the mean of means.
    Means(f64),
    /// Proportional to n: n/D for an effective denominator D.
    Targets(f64),
    /// None of these.
    Other,
}

impl Shape {
    /// That of a window; `None` where no weight was seen.
    ///
    /// Weights are equal within the contract's tolerance or the plausible rounding of `arithmetic`, whichever is more.
    pub(super) fn of(ledger: &WindowLedger, relative: f64, arithmetic: Arithmetic) -> Option<Self> {
        let slack = plausible_bound(ledger.terms(), arithmetic, 1.0).min(1.0 / 1024.0);
        let slack = slack.max(relative) + OWN_ROUNDING;
        let c = ledger.counts.reduction as f64;
        let seen = || ledger.microbatches.iter().filter_map(|microbatch| Some((microbatch, microbatch.seen()?)));
        let denominators: Vec<f64> = seen().map(|(_, seen)| c / seen).collect();
        if denominators.is_empty() {
            return None;
        }
        if !denominators.iter().all(|denominator| denominator.is_finite()) {
            return Some(Shape::Other);
        }
        if let Some(denominator) = common(&denominators, slack) {
            return Some(Shape::Equal(denominator));
        }
        let microbatches = ledger.counts.microbatches as f64 * ledger.counts.world_size as f64;
        let means: Vec<f64> =
            seen().map(|(microbatch, seen)| seen * microbatch.valid_targets as f64 * microbatches / c).collect();
        if let Some(times) = common(&means, slack) {
            return Some(Shape::Means(times));
        }
        let targets: Vec<f64> = seen().map(|(microbatch, seen)| c * microbatch.valid_targets as f64 / seen).collect();
        if let Some(denominator) = common(&targets, slack) {
            return Some(Shape::Targets(denominator));
        }
        Some(groups(denominators, slack).map_or(Shape::Other, Shape::Groups))
    }
}

/// The middle of numbers that lie within `slack` of each other, relatively.
fn common(numbers: &[f64], slack: f64) -> Option<f64> {
    let (low, high) = numbers
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &number| (low.min(number), high.max(number)));
    (high - low <= 2.0 * slack * low.abs()).then_some(low.midpoint(high))
}

/// Groups of equal numbers, the largest group first; `None` where nothing is equal.
fn groups(mut numbers: Vec<f64>, slack: f64) -> Option<Vec<(f64, u64)>> {
    numbers.sort_by(f64::total_cmp);
    let mut groups: Vec<Vec<f64>> = Vec::new();
    for number in numbers.iter().copied() {
        match groups.last_mut() {
            Some(group) if number - group[0] <= 2.0 * slack * group[0].abs() => group.push(number),
            _ => groups.push(vec![number]),
        }
    }
    if groups.len() == numbers.len() {
        return None;
    }
    let mut groups: Vec<(f64, u64)> =
        groups.iter().map(|group| (group[0].midpoint(group[group.len() - 1]), group.len() as u64)).collect();
    groups.sort_by(|left, right| right.1.cmp(&left.1).then(right.0.total_cmp(&left.0)));
    Some(groups)
}

/// Windows of one shape: how many, the first of them, and the first one's shape.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// How many.
    pub(super) count: u64,
    /// The first, at most [`NAMED`].
    pub(super) first: Vec<u64>,
    /// Shape and N of the first.
    pub(super) example: Option<(Shape, u64)>,
}

impl Tally {
    fn note(&mut self, window: u64) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(window);
        }
    }

    fn add(&mut self, window: u64, shape: Shape, valid_targets: u64) {
        self.note(window);
        self.example.get_or_insert((shape, valid_targets));
    }
}

/// The shapes of all windows, in memory that does not grow with them.
#[derive(Clone, Debug, Default)]
pub(super) struct Shapes {
    /// The declared weights.
    pub(super) declared: Tally,
    /// Equal weights, D = N up to rounding.
    pub(super) token_mean: Tally,
    /// Equal weights, another D.
    pub(super) equal: Tally,
    /// Least and greatest D − N of those.
    pub(super) excess: Option<(f64, f64)>,
    /// Least and greatest D/N of those.
    pub(super) ratio: Option<(f64, f64)>,
    /// Those whose D − N is no integer within the rounding and tolerance of D.
    pub(super) fractional: u64,
    /// Those in which more than one weight was seen.
    pub(super) several: u64,
    /// Those of fewer than K microbatches and D > N.
    pub(super) missing: u64,
    /// Equal in groups.
    pub(super) groups: Tally,
    /// Proportional to 1/n.
    pub(super) means: Tally,
    /// Proportional to n.
    pub(super) targets: Tally,
    /// None of these.
    pub(super) other: Tally,
}

impl Shapes {
    /// Takes in a window whose weights are the declared ones.
    pub(super) fn add_declared(&mut self, window: u64) {
        self.declared.note(window);
    }

    /// Takes in a window whose weights are not.
    pub(super) fn add(&mut self, ledger: &WindowLedger, relative: f64, arithmetic: Arithmetic) {
        let valid_targets = ledger.counts.valid_targets;
        let Some(shape) = Shape::of(ledger, relative, arithmetic) else { return };
        let tally = match shape {
            Shape::Equal(denominator) => {
                let n = valid_targets as f64;
                let slack = plausible_bound(ledger.terms(), arithmetic, 1.0).min(1.0 / 1024.0).max(relative);
                let slack = slack.min(0.25 / n).max(relative) + OWN_ROUNDING;
                if (denominator / n - 1.0).abs() <= slack {
                    &mut self.token_mean
                } else {
                    widen(&mut self.excess, denominator - n);
                    widen(&mut self.ratio, denominator / n);
                    let excess = denominator - n;
                    let is_integer = (excess - excess.round()).abs() <= (slack * denominator.abs()).min(0.25);
                    self.fractional += u64::from(!is_integer);
                    self.several += u64::from(ledger.weights.compared > 1);
                    let is_short = ledger.counts.microbatches < ledger.counts.accumulation_steps;
                    self.missing += u64::from(is_short && excess > 0.0);
                    &mut self.equal
                }
            }
            Shape::Groups(_) => &mut self.groups,
            Shape::Means(_) => &mut self.means,
            Shape::Targets(_) => &mut self.targets,
            Shape::Other => &mut self.other,
        };
        tally.add(ledger.window, shape, valid_targets);
    }
}

fn widen(range: &mut Option<(f64, f64)>, value: f64) {
    let (low, high) = range.unwrap_or((value, value));
    *range = Some((low.min(value), high.max(value)));
}

//! What a replay came to: plain numbers, in the order of the windows.
use super::drift::Drift;
use super::interpret::Seen;
use super::recipes::Recipe;
use super::script::ScaleMove;
use crate::autograd::recompute::Mismatch;
use crate::manifest::event::Outcome;

/// A whole replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// P: scalars of the decoder.
    pub parameters: usize,
    /// The windows that were judged.
    pub windows: Vec<WindowTrace>,
    /// The run that was left to itself.
    pub cumulative: Option<Cumulative>,
    /// Each recipe where it drifts most.
    pub counterexamples: Vec<Counterexample>,
    /// Where something that was run again did not come out the same, by window. Of such a window nothing is given.
    pub mismatches: Vec<WindowMismatch>,
    /// Targets of all windows that were executed, once.
    pub targets: u64,
}

/// A recompute that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowMismatch {
    /// The window; `None` in the pass that counts what is retained.
    pub window: Option<u64>,
    /// What differed first.
    pub mismatch: Mismatch,
}

impl WindowMismatch {
    /// The first among what the ranks of a window saw.
    pub fn of(window: u64, seen: &[Seen]) -> Option<Self> {
        let mismatch = seen.iter().find_map(|seen| seen.mismatch.clone())?;
        Some(WindowMismatch { window: Some(window), mismatch })
    }
}

/// One window, run beside reference.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowTrace {
    /// The window's index.
    pub window: u64,
    /// The rank that is furthest off, and the index of the event there that settled the window.
    pub place: Option<(u64, u64)>,
    /// N.
    pub targets: u64,
    /// What became of it.
    pub outcome: Outcome,
    /// On the rank that is furthest off; `None` where no gradient was consumed.
    pub gradient: Option<GradientTrace>,
    /// ‖run − reference‖₂ of the consumed gradient up to which they agree.
    pub allowed: f64,
    /// The same distance of the window as declared: what reordering the additions does.
    pub floor: Option<f64>,
    /// Weights after the window, on the rank that is furthest off.
    pub weights: Drift,
    /// The optimizer's moments after the window, on that rank.
    pub moments: Vec<Drift>,
    /// Steps that moved the weights: of the rank that is furthest from one, and of the reference.
    pub steps: [u64; 2],
    /// Learning rate of run and reference; `None` where nothing moved.
    pub learning_rate: Option<[f64; 2]>,
    /// Loss scale after the window, where it was recorded.
    pub scale: Option<ScaleMove>,
    /// The largest distance of a rank's weights from rank 0's; `None` on one rank.
    pub ranks_apart: Option<f64>,
    /// What a mean of means would have made of it.
    pub mean_of_means: Option<RecipeTrace>,
    /// Whether its declared weights are those of a mean of means, so that no drift is to be seen.
    pub is_control: bool,
    /// Whether the decoder's own gradient overflowed, in the run or in the reference: then nothing is compared.
    pub overflowed: bool,
    /// Whether parameters, moments and step count are to the bit what they were.
    pub held: bool,
}

/// The gradient of one rank against the full batch's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientTrace {
    /// The rank.
    pub rank: usize,
    /// Still in the loss scale's unit.
    pub scaled: Drift,
    /// Before it was clipped.
    pub unscaled: Drift,
    /// As the optimizer consumed it; this is judged.
    pub consumed: Drift,
    /// ‖unscaled gradient‖₂ of run and reference.
    pub norm: [f64; 2],
}

/// A recipe's gradient and weights against the full batch's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecipeTrace {
    /// The gradient that the optimizer consumed.
    pub gradient: Drift,
    /// The weights after the window.
    pub weights: Drift,
}

/// A recipe in the window where it drifts most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counterexample {
    /// The recipe.
    pub recipe: Recipe,
    /// The window.
    pub window: u64,
    /// How far it drifts there.
    pub drift: RecipeTrace,
}

/// The run without being set to the reference's state: how far its weights have drifted at the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cumulative {
    /// On the rank that is furthest off.
    pub rank: usize,
    /// Weights after the last window that was executed.
    pub weights: Drift,
    /// The largest distance of a rank's weights from rank 0's; `None` on one rank.
    pub ranks_apart: Option<f64>,
}

impl WindowTrace {
    /// Whether the consumed gradient is the full batch's within what is allowed.
    pub fn gradient_agrees(&self) -> bool {
        self.gradient.as_ref().is_none_or(|gradient| gradient.consumed.l2 <= self.allowed)
    }

    /// How far a consumed gradient is off that is not the full batch's, as a part of that one's length.
    pub fn off(&self) -> Option<f64> {
        let gradient = self.gradient.filter(|_| !self.gradient_agrees())?;
        Some(gradient.consumed.relative().unwrap_or(f64::MAX))
    }

    /// Whether steps and loss scale are what the contract's clock has.
    pub fn clocks_agree(&self) -> bool {
        self.steps[0] == self.steps[1] && self.scale.is_none_or(|scale| scale.run == scale.reference)
    }

    /// Whether the window made the update that one big batch would have made.
    pub fn agrees(&self) -> bool {
        self.overflowed || (self.gradient_agrees() && self.clocks_agree())
    }
}

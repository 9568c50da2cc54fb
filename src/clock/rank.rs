//! The clocks of one rank between windows, and how an event moves them.
use super::epoch::Epochs;
use super::fold::Carried;
use super::pass::Pass;
use super::scaler::Scaler;
use super::scaler::ScalerState;
use super::trace::Tick;
use super::trace::Trace;
use super::updates::Updates;
use super::window::Counter;
use super::window::Gradients;
use super::window::RankClock;
use crate::canonical::Count;
use crate::canonical::Finite;
use crate::manifest::contract::Contract;
use crate::manifest::event::Restore;
use crate::manifest::resume::Resume;
use crate::manifest::window::RankWindow;

/// What one rank's clocks show between windows.
#[derive(Clone, Debug)]
pub(super) struct RankState {
    pub(super) gradients: Gradients,
    pub(super) updates: Updates,
    /// Updates applied in this recording, for a run whose beginning is unknown.
    pub(super) applied_here: u64,
    pub(super) epochs: Epochs,
    pub(super) scaler: Option<Scaler>,
    pub(super) learning_rate: Option<f64>,
    /// Scheduler ticks since the last step.
    pub(super) ticks_since_step: u64,
    last_window: Option<u64>,
}

impl RankState {
    /// Before the first window. Only a run that begins at window 0 is known to begin at the beginning.
    pub(super) fn start(contract: &Contract, window: u64, resume: Option<&Resume>) -> Self {
        let is_new = window == 0 && resume.is_none();
        let mut scaler = contract.loss_scale.map(|policy| Scaler::new(policy, contract.tolerance.relative.get()));
        if let Some(scaler) = scaler.as_mut().filter(|_| !is_new) {
            scaler.set(resume.map_or(ScalerState::default(), resumed_scaler));
        }
        let resumed = Updates { applied: resume.map(|resume| resume.applied_updates.get()), skipped: None };
        RankState {
            gradients: if resume.is_some() { Gradients::Unknown } else { Gradients::Clean },
            updates: if is_new { Updates::START } else { resumed },
            applied_here: 0,
            epochs: if is_new { Epochs::START } else { Epochs::default() },
            scaler,
            learning_rate: resume.and_then(|resume| resume.learning_rate).map(Finite::get),
            ticks_since_step: 0,
            last_window: None,
        }
    }

    /// Follows the rank through a window. `resumed` counts the microbatches that the manifest before had of it.
    pub(super) fn observe(
        &mut self,
        contract: &Contract,
        window: u64,
        recorded: &RankWindow,
        resumed: Option<u64>,
        is_cut: bool,
    ) -> RankClock {
        let trace = Trace::of(recorded);
        let restored = recorded.restore.as_ref().and_then(|restore| self.restore(recorded, window, restore));
        let mut clock = RankClock {
            rank: recorded.rank,
            microbatches: trace.counts.backward + resumed.unwrap_or(0),
            is_resumed: resumed.is_some(),
            is_restored: recorded.restore.is_some(),
            restored,
            gradients: self.gradients,
            updates: self.updates,
            ticks_before: self.ticks_since_step,
            trace,
            epochs_ended: 0,
            epoch_open: false,
            labels: Vec::new(),
            rates: Vec::new(),
            epochs: Vec::new(),
            scale_changes: Vec::new(),
            unscale_mismatches: Vec::new(),
            strange_scales: Vec::new(),
        };
        let mut pass = Pass::new(self, contract, &clock.trace);
        for (position, indexed) in recorded.events.iter().enumerate() {
            let phase = clock.trace.phase(position);
            pass.take(Tick { position, index: indexed.index, phase }, &indexed.event, &mut clock);
        }
        pass.finish(&mut clock, is_cut);
        self.last_window = Some(window);
        clock
    }

    /// Takes a restored state. What it leaves out is as it was after the window before, if that was recorded.
    fn restore(&mut self, recorded: &RankWindow, window: u64, restore: &Restore) -> Option<Counter> {
        let continues = self.last_window.is_some_and(|last| last.checked_add(1) == Some(window));
        let claimed = restore.applied_updates.get();
        let counted = self.updates.applied.filter(|_| continues);
        let with_skipped = self.updates.skipped.zip(counted).map(|(skipped, applied)| skipped.saturating_add(applied));
        let index = recorded.events.first().map_or(0, |first| first.index);
        // Under `on_skip.update: "advance"` some loops save the counter that they show, skipped updates included.
        let agrees = counted == Some(claimed) || with_skipped == Some(claimed);
        if counted.is_none() {
            // What was counted is better known than what is claimed.
            let skipped = self.updates.skipped.filter(|_| continues);
            self.updates = Updates { applied: Some(claimed), skipped };
        }
        if !continues {
            self.epochs = Epochs::default();
        }
        if let Some(scaler) = &mut self.scaler {
            let before = if continues { scaler.state() } else { ScalerState::default() };
            scaler.set(ScalerState {
                scale: restore.loss_scale.map(Finite::get).or(before.scale),
                tracker: restore.growth_tracker.map(Count::get).or(before.tracker),
                hysteresis: restore.hysteresis_left.map(Count::get).or(before.hysteresis),
                delay: restore.growth_delay_pending.or(before.delay),
            });
        }
        self.learning_rate = restore.learning_rate.map(Finite::get).or(self.learning_rate);
        self.gradients = Gradients::Unknown;
        self.ticks_since_step = 0;
        counted.filter(|_| !agrees).map(|counted| Counter { index, recorded: claimed, counted })
    }

    /// The state that the next manifest goes on from.
    pub(super) fn carried(&self) -> Carried {
        let scaler = self.scaler.as_ref().map(Scaler::state).unwrap_or_default();
        Carried {
            applied_updates: self.updates.applied.unwrap_or(self.applied_here),
            loss_scale: scaler.scale,
            growth_tracker: scaler.tracker,
            hysteresis_left: scaler.hysteresis,
            growth_delay_pending: scaler.delay,
            learning_rate: self.learning_rate,
        }
    }
}

/// The scaler's state as a resumed run was given it.
fn resumed_scaler(resume: &Resume) -> ScalerState {
    ScalerState {
        scale: resume.loss_scale.map(Finite::get),
        tracker: resume.growth_tracker.map(Count::get),
        hysteresis: resume.hysteresis_left.map(Count::get),
        delay: resume.growth_delay_pending,
    }
}

//! One look over a window's events: what there is at all, so that nothing is searched for in vain.
use super::window::End;
use crate::manifest::event::Event;
use crate::manifest::window::Window;

/// What a window's events hold, over all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scan {
    /// How the window ended, on whichever rank got furthest.
    pub(super) end: End,
    /// Whether the gradients were rescaled.
    pub(super) has_rescale: bool,
    /// Whether a gradient numerator was recorded.
    pub(super) has_gradients: bool,
    /// Whether a buffer was recorded.
    pub(super) has_buffers: bool,
    /// Whether something was logged, about this window or another.
    pub(super) has_logs: bool,
    /// Whether the gradients were clipped.
    pub(super) has_clip: bool,
    /// Whether the scheduler ticked.
    pub(super) has_tick: bool,
}

impl Scan {
    /// Looks over a window.
    pub(super) fn of(window: &Window) -> Self {
        let mut scan = Scan {
            end: End::Open,
            has_rescale: false,
            has_gradients: false,
            has_buffers: false,
            has_logs: window.ranks.iter().any(|rank| !rank.late.is_empty()),
            has_clip: false,
            has_tick: false,
        };
        for indexed in window.ranks.iter().flat_map(|rank| &rank.events) {
            match &indexed.event {
                Event::Backward(backward) => {
                    scan.has_gradients |= backward.gradient_sum.is_some();
                    scan.has_buffers |= backward.accumulated.is_some();
                }
                Event::Rescale(_) => scan.has_rescale = true,
                Event::Logged(_) => scan.has_logs = true,
                Event::Clip(_) => scan.has_clip = true,
                Event::SchedulerStep(_) => scan.has_tick = true,
                // A rank that stepped is further than one that carried or dropped.
                Event::OptimizerStep(_) => scan.end = End::Stepped,
                Event::Carry(_) => scan.reach(End::Carried),
                Event::Drop(_) => scan.reach(End::Dropped),
                _ => {}
            }
        }
        scan
    }

    fn reach(&mut self, end: End) {
        if self.end != End::Stepped {
            self.end = self.end.max(end);
        }
    }
}

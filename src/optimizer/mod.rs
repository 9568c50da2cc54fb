//! Optimizers, clipping, loss scaling, schedules.

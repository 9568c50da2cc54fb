//! Proves from a recorded training run that gradient accumulation made the declared update.
//!
//! Data flows one way (`docs/architecture.md`): bytes are read into events, events are folded into ledger, clock and
//! digest, rules judge what came out, and only what was judged can be sealed into a receipt.

#[macro_use]
mod record;

pub mod align;
pub mod autograd;
pub mod canonical;
pub mod clock;
pub mod decoder;
pub mod finding;
pub mod judge;
pub mod ledger;
pub mod manifest;
pub mod numeric;
pub mod optimizer;
pub mod pipeline;
pub mod receipt;
pub mod replay;
pub mod report;
pub mod rules;
pub mod selfcheck;

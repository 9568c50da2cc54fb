//! Numbers: exact sums and quotients, rounding bounds, deterministic mathematics.

pub mod float;
pub mod math;
pub mod random;

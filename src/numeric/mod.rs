//! Numbers: exact sums and quotients, rounding bounds, deterministic mathematics.

pub mod exponential;
pub mod float;
pub mod math;
pub mod random;
pub mod vector;

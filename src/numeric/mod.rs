//! Numbers: exact sums and quotients, rounding bounds, deterministic mathematics.
/// x
pub mod rounding;

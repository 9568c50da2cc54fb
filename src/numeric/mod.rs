//! Numbers: exact sums and quotients, rounding bounds, deterministic mathematics.

pub mod exact;
pub mod exponential;
pub mod float;
pub mod math;
pub mod quotient;
pub mod random;
pub mod rounding;
pub mod shown;
pub(crate) mod sum;
pub mod tolerance;
pub mod vector;

#[cfg(test)]
mod oracle;

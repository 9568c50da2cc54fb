//! Numbers: exact sums and quotients, rounding bounds, deterministic mathematics.

pub mod exact;
pub mod quotient;
pub mod rounding;
pub mod tolerance;

#[cfg(test)]
mod oracle;

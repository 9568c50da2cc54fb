//! Numbers: exact sums and quotients, rounding bounds, deterministic mathematics.

//! Reverse- and forward-mode differentiation on a tape that is data.

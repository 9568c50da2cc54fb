//! TEMPORARY stand-in; replaced by the numeric branch.
use serde::{Deserialize, Serialize};
/// Arithmetic
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Arithmetic {
    Float64,
    Float32,
    Bfloat16,
    Float16,
}

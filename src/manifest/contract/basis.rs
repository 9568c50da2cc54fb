//! The linear basis in which vectors are recorded.
use crate::canonical::Count;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// In which linear basis vectors are recorded; D is the dimension.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", remote = "Basis", deny_unknown_fields)]
pub enum Basis {
    /// All parameters.
    Complete {
        /// D.
        dimension: Count,
    },
    /// A fixed choice of parameters.
    Coordinates {
        /// D.
        dimension: Count,
    },
    /// A fixed linear projection.
    Sketch {
        /// D.
        dimension: Count,
        /// Names the projection.
        seed: Count,
    },
}

impl Basis {
    /// D.
    pub fn dimension(&self) -> u64 {
        match self {
            Basis::Complete { dimension } | Basis::Coordinates { dimension } | Basis::Sketch { dimension, .. } => {
                dimension.get()
            }
        }
    }

    /// Whether the L2 norm of a recorded vector is the gradient's own.
    pub fn is_complete(&self) -> bool {
        matches!(self, Basis::Complete { .. })
    }
}

objects!(Basis);

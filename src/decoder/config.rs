//! Sizes of the decoder.

/// What decides the parameters' shapes and the arithmetic.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Rows of the embedding table: token ids.
    pub vocabulary: usize,
    /// Components of the residual stream.
    pub width: usize,
    /// Attention heads; the width is a multiple of twice their number.
    pub heads: usize,
    /// Transformer blocks.
    pub blocks: usize,
    /// Inner width of SwiGLU.
    pub feed_forward: usize,
    /// The longest row.
    pub context: usize,
    /// ε of RMSNorm.
    pub rms_epsilon: f64,
    /// Base of the rotary frequencies.
    pub rotary_base: f64,
}

impl Default for Config {
    /// 29 tensors, 1572 scalars.
    fn default() -> Self {
        Self {
            vocabulary: 266,
            width: 4,
            heads: 1,
            blocks: 3,
            feed_forward: 8,
            context: 8,
            rms_epsilon: 1e-5,
            rotary_base: 10000.0,
        }
    }
}

/// Sizes of which no decoder can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidConfig {
    /// A size is 0.
    #[error("{0} must be at least 1")]
    Zero(&'static str),
    /// A head has no whole number of rotary pairs.
    #[error("width {width} is no multiple of twice the {heads} heads")]
    Heads {
        /// Components of the residual stream.
        width: usize,
        /// Attention heads.
        heads: usize,
    },
    /// ε or the base is not a number above 0.
    #[error("{0} must be finite and above 0")]
    Constant(&'static str),
}

impl Config {
    /// Whether a decoder can be made of it.
    ///
    /// # Errors
    /// [`InvalidConfig`]: the first reason why not. No block at all is allowed.
    pub fn check(&self) -> Result<(), InvalidConfig> {
        let sizes = [
            ("vocabulary", self.vocabulary),
            ("width", self.width),
            ("heads", self.heads),
            ("feed_forward", self.feed_forward),
            ("context", self.context),
        ];
        if let Some((name, _)) = sizes.into_iter().find(|(_, size)| *size == 0) {
            return Err(InvalidConfig::Zero(name));
        }
        if !self.width.is_multiple_of(2 * self.heads) {
            return Err(InvalidConfig::Heads { width: self.width, heads: self.heads });
        }
        let constants = [("rms_epsilon", self.rms_epsilon), ("rotary_base", self.rotary_base)];
        match constants.into_iter().find(|(_, constant)| !(constant.is_finite() && *constant > 0.0)) {
            Some((name, _)) => Err(InvalidConfig::Constant(name)),
            None => Ok(()),
        }
    }

    /// Components of one head.
    #[must_use]
    pub fn head_dimension(&self) -> usize {
        self.width / self.heads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused() {
        let d = Config::default;
        assert_eq!(d().check(), Ok(()));
        assert_eq!(Config { blocks: 0, ..d() }.check(), Ok(()));
        assert_eq!(Config { context: 0, ..d() }.check(), Err(InvalidConfig::Zero("context")));
        assert_eq!(Config { heads: 4, ..d() }.check(), Err(InvalidConfig::Heads { width: 4, heads: 4 }));
        assert_eq!(Config { rms_epsilon: f64::NAN, ..d() }.check(), Err(InvalidConfig::Constant("rms_epsilon")));
    }
}

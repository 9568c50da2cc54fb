//! Names, shapes and first values of the parameters.
//!
//! One SplitMix64 stream runs over all tensors in order, row after row; matrices get a · u and gains 1 + a · u with u in
//! [-1, 1) and the a of the list below, whatever the width (`fixtures/golden/README.md`).

use crate::autograd::parameters::{ParameterId, Parameters};
use crate::autograd::tensor::{Shape, Tensor};
use crate::decoder::config::Config;
use crate::numeric::random::SplitMix64;

/// Seed of the golden weights.
pub const GOLDEN_SEED: u64 = 0x5EED_0000_0000_002A;

/// The tensors of one block, in order; each is a [`BlockTensor`].
const BLOCK: [(&str, BlockShape, Initial); 9] = [
    ("norm1", |c| Shape::vector(c.width), Initial::AroundOne(0.125)),
    ("wq", |c| Shape::matrix(c.width, c.width), Initial::AroundZero(0.5)),
    ("wk", |c| Shape::matrix(c.width, c.width), Initial::AroundZero(0.5)),
    ("wv", |c| Shape::matrix(c.width, c.width), Initial::AroundZero(0.5)),
    ("wo", |c| Shape::matrix(c.width, c.width), Initial::AroundZero(0.5)),
    ("norm2", |c| Shape::vector(c.width), Initial::AroundOne(0.125)),
    ("w_gate", |c| Shape::matrix(c.feed_forward, c.width), Initial::AroundZero(0.5)),
    ("w_up", |c| Shape::matrix(c.feed_forward, c.width), Initial::AroundZero(0.5)),
    ("w_down", |c| Shape::matrix(c.width, c.feed_forward), Initial::AroundZero(0.375)),
];

type BlockShape = fn(&Config) -> Shape;

/// A tensor of a block by its place in the order.
#[derive(Clone, Copy)]
pub(super) enum BlockTensor {
    Norm1,
    Query,
    Key,
    Value,
    Output,
    Norm2,
    Gate,
    Up,
    Down,
}

/// How a tensor's elements are drawn.
#[derive(Clone, Copy)]
enum Initial {
    /// a · u.
    AroundZero(f64),
    /// 1 + a · u.
    AroundOne(f64),
}

/// The embedding table, which is the output layer as well.
pub(super) const EMBED: ParameterId = ParameterId::nth(0);

/// A tensor of block `block`.
pub(super) fn block_tensor(block: usize, tensor: BlockTensor) -> ParameterId {
    ParameterId::nth(1 + block * BLOCK.len() + tensor as usize)
}

/// The gain of the last norm.
pub(super) fn final_norm(config: &Config) -> ParameterId {
    ParameterId::nth(1 + config.blocks * BLOCK.len())
}

/// The decoder's parameters as they are before training: `embed`, then of each block `norm1`, `wq`, `wk`, `wv`, `wo`,
/// `norm2`, `w_gate`, `w_up`, `w_down`, then `norm_f`. Matrices are `[out, in]`.
#[must_use]
pub fn parameters(config: &Config, seed: u64) -> Parameters {
    let mut stream = SplitMix64::new(seed);
    let mut draw = |shape: Shape, initial: Initial| {
        let element = |_| match initial {
            Initial::AroundZero(a) => a * stream.symmetric(),
            Initial::AroundOne(a) => 1.0 + a * stream.symmetric(),
        };
        Tensor::new(shape, (0..shape.len()).map(element).collect())
    };
    let embed = draw(Shape::matrix(config.vocabulary, config.width), Initial::AroundZero(0.5));
    let mut tensors = vec![("embed".to_owned(), embed)];
    for block in 0..config.blocks {
        for (name, shape, initial) in BLOCK {
            tensors.push((format!("blocks.{block}.{name}"), draw(shape(config), initial)));
        }
    }
    tensors.push(("norm_f".to_owned(), draw(Shape::vector(config.width), Initial::AroundOne(0.125))));
    Parameters::new(tensors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_nine_tensors() {
        let config = Config::default();
        let parameters = parameters(&config, GOLDEN_SEED);
        assert_eq!((parameters.tensors().len(), parameters.values().len()), (29, 1572));
        let name =
            |id: ParameterId| &*parameters.tensors()[parameters.ids().position(|other| other == id).unwrap()].name;
        assert_eq!(name(EMBED), "embed");
        assert_eq!(name(block_tensor(0, BlockTensor::Norm1)), "blocks.0.norm1");
        assert_eq!(name(block_tensor(1, BlockTensor::Output)), "blocks.1.wo");
        assert_eq!(name(block_tensor(2, BlockTensor::Down)), "blocks.2.w_down");
        assert_eq!(name(final_norm(&config)), "norm_f");
    }

    #[test]
    fn sizes_follow_the_configuration() {
        let config = Config { width: 6, feed_forward: 5, blocks: 1, vocabulary: 10, ..Config::default() };
        assert_eq!(parameters(&config, 1).values().len(), 60 + 6 + 4 * 36 + 6 + 3 * 30 + 6);
    }
}

//! The inner loops that several primitives share. Each keeps one written order of additions for every output element.

pub(super) mod attention;
pub(super) mod product;
mod row_wise;
pub(super) mod softmax;
pub(super) mod threads;
mod tiles;

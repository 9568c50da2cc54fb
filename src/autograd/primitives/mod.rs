//! One primitive to a file; one list names them all.

use crate::autograd::primitive::Primitive;

registry! {
    /// Every primitive.
    PRIMITIVES: Primitive = PRIMITIVE, test crate::autograd::gradcheck::gradcheck;
    add,
    multiply,
    scale,
    divide,
    sum,
    matmul,
    linear,
    embedding,
    rms_norm,
    silu,
    swiglu,
    softmax,
    rope,
    causal_attention,
    dropout,
    cross_entropy,
    head_cross_entropy,
}

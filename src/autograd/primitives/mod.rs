//! One primitive to a file; one list names them all.

use crate::autograd::primitive::Primitive;

registry! {
    /// Every primitive.
    PRIMITIVES: Primitive = PRIMITIVE, test crate::autograd::gradcheck::gradcheck;
    add,
    multiply,
    matmul,
    linear,
}

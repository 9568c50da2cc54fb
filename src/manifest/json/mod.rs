//! JSON text as a flat tree with spans, made of any bytes whatever, with every fault of syntax.
//!
//! It only serves to explain: what is accepted is decided elsewhere. Invariant: parsing never fails; what can't be
//! part of a tree is a fault and a [`Kind::Bad`] or torn node. Memory is bounded by the limits on nesting and lists
//! and by [`TOKENS`].
mod lexer;
mod number;
mod parser;
mod string;
mod tree;

pub(crate) use lexer::is_nonfinite;
pub(crate) use number::Form;
pub(crate) use number::form;
pub(crate) use parser::parse;
pub(crate) use parser::parse_document;
pub(crate) use tree::Kind;
pub(crate) use tree::Node;
pub(crate) use tree::Tree;

/// The largest number of tokens in a tree: the largest event, with every vector full, has half as many.
pub(crate) const TOKENS: usize = 1 << 23;

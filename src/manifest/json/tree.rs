//! The tree: tokens in order, each knowing where its subtree ends.
use crate::finding::Code;
use crate::manifest::json::string;
use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Number,
    String,
    Array,
    Object,
    /// A value that was not looked into.
    Raw,
    /// Something with a fault that has been reported.
    Bad,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// A container that breaks off, or that was not read to its end.
    pub(super) is_torn: bool,
    /// Index of the token after this one's subtree.
    pub(super) next: u32,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A fault of syntax, or of a limit on it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mistake {
    pub(crate) code: Code,
    /// Of the innermost value that could be told.
    pub(crate) pointer: String,
    pub(crate) message: String,
    pub(crate) span: Range<usize>,
}

/// A text's values.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    pub(super) text: &'a [u8],
    pub(super) tokens: Vec<Token>,
    pub(crate) mistakes: Vec<Mistake>,
}

/// One value of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'t> {
    tree: &'t Tree<'t>,
    index: u32,
}

impl<'a> Tree<'a> {
    /// The outermost value, if there is any.
    pub(crate) fn root(&self) -> Option<Node<'_>> {
        (!self.tokens.is_empty()).then_some(Node { tree: self, index: 0 })
    }
}

impl<'t> Node<'t> {
    fn token(self) -> Token {
        self.tree.tokens[self.index as usize]
    }

    pub(crate) fn kind(self) -> Kind {
        self.token().kind
    }

    /// Whether a container breaks off, so that what is missing in it says nothing.
    pub(crate) fn is_torn(self) -> bool {
        self.token().is_torn
    }

    pub(crate) fn span(self) -> Range<usize> {
        self.token().start..self.token().end
    }

    pub(crate) fn text(self) -> &'t [u8] {
        &self.tree.text[self.span()]
    }

    /// A string's value; what can't be decoded in it is replaced.
    pub(crate) fn string(self) -> Option<String> {
        (self.kind() == Kind::String).then(|| string::decode(self.text()))
    }

    /// An array's elements; of another value none.
    pub(crate) fn elements(self) -> impl Iterator<Item = Node<'t>> {
        let inside = if self.kind() == Kind::Array { self.children() } else { 0..0 };
        Siblings { tree: self.tree, inside }
    }

    /// An object's members, each key with its value; of another value none.
    pub(crate) fn members(self) -> impl Iterator<Item = (Node<'t>, Node<'t>)> {
        let inside = if self.kind() == Kind::Object { self.children() } else { 0..0 };
        let mut siblings = Siblings { tree: self.tree, inside };
        std::iter::from_fn(move || Some((siblings.next()?, siblings.next()?)))
    }

    /// The first member of that name.
    pub(crate) fn member(self, name: &str) -> Option<Node<'t>> {
        self.members().find(|(key, _)| key.string().as_deref() == Some(name)).map(|(_, value)| value)
    }

    fn children(self) -> Range<u32> {
        self.index + 1..self.token().next
    }
}

struct Siblings<'t> {
    tree: &'t Tree<'t>,
    inside: Range<u32>,
}

impl<'t> Iterator for Siblings<'t> {
    type Item = Node<'t>;

    fn next(&mut self) -> Option<Node<'t>> {
        let index = self.inside.start;
        (index < self.inside.end).then(|| {
            let node = Node { tree: self.tree, index };
            self.inside.start = node.token().next;
            node
        })
    }
}

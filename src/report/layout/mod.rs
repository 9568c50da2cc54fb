//! What a report is made of, whatever the format: sections of blocks of lines of spans.
//!
//! Invariant: a span's text is what the receipt says, unescaped; each renderer escapes all of it.
mod bars;
pub mod html;
pub mod markdown;
mod paint;
pub mod prose;
pub mod table;
pub mod text;
mod wrap;

pub use bars::Bars;
pub use paint::Role;
pub use table::Table;

/// A piece of text in one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// What it is.
    pub role: Role,
    /// Unescaped.
    pub text: String,
}

/// Spans that run on: a sentence, a cell, a heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line(pub Vec<Span>);

impl Line {
    /// Nothing yet.
    pub fn new() -> Self {
        Line::default()
    }

    /// With text in a role.
    pub fn with(mut self, role: Role, text: impl Into<String>) -> Self {
        self.0.push(Span { role, text: text.into() });
        self
    }

    /// With plain text.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.with(Role::Plain, text)
    }

    /// With a name from a manifest or a recipe's or rule's.
    pub fn name(self, text: impl Into<String>) -> Self {
        self.with(Role::Name, text)
    }

    /// With something to be typed.
    pub fn code(self, text: impl Into<String>) -> Self {
        self.with(Role::Code, text)
    }

    /// With the words that matter.
    pub fn strong(self, text: impl Into<String>) -> Self {
        self.with(Role::Strong, text)
    }

    /// And then another line's spans.
    pub fn join(mut self, other: Line) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|span| span.text.is_empty())
    }
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        Line::new().text(text)
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Line::new().text(text)
    }
}

/// A part of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Running text.
    Paragraph(Line),
    /// Items, each at a depth from 0.
    List(Vec<(usize, Line)>),
    /// What is said of each of some subjects.
    Facts(Vec<(&'static str, Line)>),
    /// Rows and columns.
    Table(Table),
    /// Amounts beside one another.
    Bars(Bars),
    /// Lines set as they are: an example.
    Figure(Vec<String>),
}

/// A heading and what stands below it.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// What stands below it.
    pub blocks: Vec<Block>,
}

impl Section {
    /// An empty section.
    pub fn new(title: impl Into<String>) -> Self {
        Section { title: title.into(), blocks: Vec::new() }
    }

    /// With one block more.
    pub fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// With a paragraph more.
    pub fn paragraph(self, line: impl Into<Line>) -> Self {
        self.with(Block::Paragraph(line.into()))
    }
}

//! Colours: what a span is, and how a terminal shows it.
use crate::report::Style;
use anstyle::AnsiColor;

/// What a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Running text.
    Plain,
    /// The words that matter.
    Strong,
    /// A name: a microbatch's, a recipe's, a rule's.
    Name,
    /// Something to be typed.
    Code,
    /// A heading.
    Heading,
    /// An error.
    Error,
    /// A warning.
    Warning,
    /// All is well.
    Good,
    /// Less important.
    Faint,
}

impl Role {
    fn style(self) -> anstyle::Style {
        let bold = anstyle::Style::new().bold();
        match self {
            Role::Plain => anstyle::Style::new(),
            Role::Strong => bold,
            Role::Heading => bold.underline(),
            Role::Name | Role::Code => AnsiColor::Cyan.on_default(),
            Role::Error => bold.fg_color(Some(AnsiColor::BrightRed.into())),
            Role::Warning => bold.fg_color(Some(AnsiColor::Yellow.into())),
            Role::Good => bold.fg_color(Some(AnsiColor::Green.into())),
            Role::Faint => anstyle::Style::new().dimmed(),
        }
    }
}

impl Style {
    /// Text, already harmless, in the colours of its role.
    pub(in crate::report) fn paint(self, role: Role, text: &str) -> String {
        match self.color && role != Role::Plain {
            true => format!("{0}{text}{0:#}", role.style()),
            false => text.to_owned(),
        }
    }
}

//! What the exit codes mean: told once, for the help and the manual pages. The README's table is held against it.

/// An exit code.
pub(crate) struct Exit {
    pub(crate) code: u8,
    /// What it means of `receipt verify`.
    pub(crate) verify: &'static str,
    /// What it means of the other commands, where that is not the same.
    pub(crate) others: Option<&'static str>,
}

/// All there are.
pub(crate) const EXITS: [Exit; 5] = [
    exit(0, "verified", Some("done; `check`, `diff`: equal; `replay`, `selfcheck`: agrees")),
    exit(1, "violated", Some("differs; `replay`, `selfcheck`: disagrees")),
    exit(2, "usage, or a file cannot be read or written", None),
    exit(
        3,
        "rejected: the manifest is malformed",
        Some("the document is malformed; `explain` of a manifest gives 0 whatever it reports"),
    ),
    exit(101, "a bug in `receipt`", None),
];

const fn exit(code: u8, verify: &'static str, others: Option<&'static str>) -> Exit {
    Exit { code, verify, others }
}

impl Exit {
    /// What it means of all commands.
    pub(crate) fn meaning(&self) -> String {
        match self.others {
            None => self.verify.to_owned(),
            Some(others) => format!("{}; other commands: {others}", self.verify),
        }
    }
}

/// What stands below the help.
pub(crate) fn help() -> String {
    let lines = EXITS.iter().map(|exit| format!("\n  {:<4} {}", exit.code, exit.meaning()));
    format!("Exit codes of verify, and of other commands where they mean something else:{}", lines.collect::<String>())
}

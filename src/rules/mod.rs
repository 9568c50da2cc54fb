//! The rules: one file each, one list a family, and how they are run.
pub mod arithmetic;
pub mod clock;
pub mod malformed;
pub mod precision;
pub mod receipt;
pub mod replay;
pub mod sync;
pub mod tail;

use crate::clock::WindowClock;
use crate::finding::{Code, Findings};
use crate::ledger::WindowLedger;
use crate::manifest::contract::Contract;
use crate::manifest::resume::Resume;
use crate::manifest::window::Window;
use crate::replay::CoordinateDrift;
use crate::replay::Trace;

/// Everything that the program knows about one rule; its name and severity are the code's own.
pub struct Rule {
    /// Stable code.
    pub code: Code,
    /// The rule's own doc comment, Markdown.
    pub docs: &'static str,
    /// Where it is written.
    pub file: &'static str,
    /// Where it runs, with its function.
    pub check: Check,
}

/// Where a rule runs, and its function, in one value, so that neither can be forgotten.
pub enum Check {
    /// While the manifest is read: `manifest/` reports it.
    Reading,
    /// Over each judged window, in order.
    Window(fn(&Judged<'_>, &mut Findings)),
    /// Over the replay, once the run was read.
    Replay(fn(&Trace, &mut Findings)),
    /// When a receipt is checked: `receipt/` reports it.
    Receipt,
}

/// One window with all that is known of it.
#[derive(Clone, Copy)]
pub struct Judged<'a> {
    /// What was declared, with defaults filled in.
    pub contract: &'a Contract,
    /// The carried window that the run continues, if it continues one.
    pub resume: Option<&'a Resume>,
    /// What was recorded.
    pub window: &'a Window,
    /// What its numbers come to.
    pub ledger: &'a WindowLedger,
    /// Which clock ticked when.
    pub clock: &'a WindowClock,
    /// Recorded parameters that do not follow from what was recorded before, where they can be followed.
    pub coordinates: Option<&'a CoordinateDrift>,
}

/// Every rule, in order of code.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    [
        malformed::MALFORMED,
        arithmetic::ARITHMETIC,
        clock::CLOCK,
        sync::SYNC,
        precision::PRECISION,
        tail::TAIL,
        replay::REPLAY,
        receipt::RECEIPT,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// The rule of a code.
pub fn find(code: Code) -> &'static Rule {
    all().find(|rule| rule.code == code).expect("bug: a code without a rule")
}

/// Runs every rule over a window.
pub fn judge(judged: &Judged<'_>, findings: &mut Findings) {
    for rule in all() {
        if let Check::Window(check) = rule.check {
            check(judged, findings);
        }
    }
}

/// Runs every rule over a replay.
pub fn judge_replay(trace: &Trace, findings: &mut Findings) {
    for rule in all() {
        if let Check::Replay(check) = rule.check {
            check(trace, findings);
        }
    }
}

/// What the list demands of each entry.
#[cfg(test)]
fn check_rule(rule: &Rule) {
    for section in ["## What it does", "## Why it is wrong", "## What to do"] {
        assert!(rule.docs.contains(section), "{}: its page lacks {section:?}", rule.code);
    }
    let name = rule.code.name().replace('-', "_");
    assert!(rule.file.ends_with(&format!("/{name}.rs")), "{}: {} is not called {name}.rs", rule.code, rule.file);
}

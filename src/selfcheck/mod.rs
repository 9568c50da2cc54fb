//! Every known answer of the embedded engine, asked again on this machine: what is expected beside what it gives.
//!
//! The tests ask the same and more; this runs in the installed program, where a compiler, a CPU or a build may differ.
//! Invariant: what is expected is written down here; what is got is computed when it is asked.

mod differences;
mod dropout;
pub mod example;
mod fan_out;
mod packed;
mod precision;
mod primitives;
mod recompute;
mod refusals;
mod schedules;
mod update;

use crate::autograd::finite_difference::Differences;
use std::fmt::Debug;

use serde::Serialize;

/// One known answer and the engine's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// What it is about.
    pub subject: &'static str,
    /// What is asked.
    pub question: String,
    /// What is known.
    pub expected: String,
    /// What the engine gives.
    pub got: String,
    /// Whether the two agree.
    pub agrees: bool,
}

/// All answers, in the order in which they were asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Answers {
    /// Whether every one agrees.
    pub agrees: bool,
    /// One by one.
    pub answers: Vec<Answer>,
    /// Forward differences in binary32 beside the exact derivative.
    pub finite_differences: Differences,
    #[serde(skip)]
    subject: &'static str,
}

impl Answers {
    /// Answers that must be the same.
    fn equal<T: PartialEq + Debug>(&mut self, question: impl Into<String>, expected: T, got: T) {
        let agrees = expected == got;
        self.push(question.into(), format!("{expected:?}"), format!("{got:?}"), agrees);
    }

    /// The same in words.
    fn same(&mut self, question: impl Into<String>, expected: impl Into<String>, got: impl Into<String>) {
        let (expected, got) = (expected.into(), got.into());
        let agrees = expected == got;
        self.push(question.into(), expected, got, agrees);
    }

    /// Numbers that may be so far apart.
    fn within(&mut self, question: impl Into<String>, expected: f64, tolerance: f64, got: f64) {
        let agrees = (got - expected).abs() <= tolerance;
        self.push(question.into(), format!("{expected:?} ± {tolerance:?}"), format!("{got:?}"), agrees);
    }

    /// A number that must be less than a bound.
    fn below<T: PartialOrd + Debug>(&mut self, question: impl Into<String>, bound: T, got: T) {
        let agrees = got < bound;
        self.push(question.into(), format!("< {bound:?}"), format!("{got:?}"), agrees);
    }

    fn push(&mut self, question: String, expected: String, got: String, agrees: bool) {
        self.answers.push(Answer { subject: self.subject, question, expected, got, agrees });
    }
}

type Subject = (&'static str, fn(&mut Answers));

const SUBJECTS: &[Subject] = &[
    ("fan-out", fan_out::ask),
    ("primitives", primitives::ask),
    ("logical update", update::ask),
    ("refusals", refusals::ask),
    ("precision", precision::ask),
    ("dropout", dropout::ask),
    ("recompute", recompute::ask),
    ("packed rows", packed::ask),
    ("schedules", schedules::ask),
    ("finite differences", differences::ask),
];

/// Asks everything.
#[must_use]
pub fn run() -> Answers {
    let mut answers = Answers::default();
    for (subject, ask) in SUBJECTS {
        answers.subject = subject;
        ask(&mut answers);
    }
    answers.agrees = answers.answers.iter().all(|answer| answer.agrees);
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_answers_as_is_known() {
        let answers = run();
        let wrong: Vec<_> = answers.answers.iter().filter(|answer| !answer.agrees).collect();
        assert!(wrong.is_empty() && answers.agrees, "{wrong:#?}");
        for (subject, _) in SUBJECTS {
            assert!(answers.answers.iter().any(|answer| answer.subject == *subject), "{subject} asks nothing");
        }
    }

    #[test]
    fn a_difference_shows() {
        let mut answers = Answers::default();
        answers.equal("a", 1, 2);
        answers.equal("not a number", f64::NAN, f64::NAN);
        answers.same("words", "one", "another");
        answers.within("b", 1.0, 0.5, 1.6);
        answers.within("c", 1.0, 0.5, f64::NAN);
        answers.below("d", 3, 3);
        answers.below("e", 3.0, f64::NAN);
        assert!(answers.answers.iter().all(|answer| !answer.agrees), "{answers:?}");
    }
}

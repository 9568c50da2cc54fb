//! The self-check as text: known answers beside the engine's, subject by subject.
use crate::autograd::finite_difference::Differences;
use crate::report::Style;
use crate::report::layout::Block;
use crate::report::layout::Line;
use crate::report::layout::Role;
use crate::report::layout::Section;
use crate::report::layout::Table;
use crate::report::layout::table::Cell;
use crate::report::layout::text as layout;
use crate::selfcheck::Answer;
use crate::selfcheck::Answers;

/// Every answer, and what they come to.
pub fn text(answers: &Answers, style: Style) -> String {
    let subjects = answers.answers.chunk_by(|answer, next| answer.subject == next.subject);
    let section = |asked: &[Answer]| Section::new(asked[0].subject).with(Block::Table(table(asked)));
    let mut sections: Vec<Section> = subjects.map(section).collect();
    sections.push(
        Section::new("forward differences in binary32")
            .paragraph(format!(
                "Exact derivative, by one VJP sweep in binary64: {:?}.",
                answers.finite_differences.exact
            ))
            .with(Block::Table(differences(&answers.finite_differences))),
    );
    sections.push(Section::new("result").paragraph(result(answers)));
    layout::sections(&sections, style)
}

fn table(answers: &[Answer]) -> Table {
    let mut table = Table::new(&["what is asked", "expected", "got", ""]);
    for answer in answers {
        let text = |text: &str| Cell::Text(text.to_owned());
        let mark = if answer.agrees { Cell::Empty } else { text("DIFFERS") };
        table.push(vec![text(&answer.question), text(&answer.expected), text(&answer.got), mark]);
    }
    table.without_empty_columns()
}

/// Truncation and cancellation apart: the error is their sum.
fn differences(differences: &Differences) -> Table {
    let mut table = Table::new(&["h", "#quotient", "#error", "#truncation", "#cancellation"]);
    for step in &differences.steps {
        let numbers = [step.quotient, step.error, step.truncation, step.cancellation].map(Cell::ratio);
        table.push([Cell::Text(format!("2^-{}", step.exponent))].into_iter().chain(numbers).collect());
    }
    table
}

fn result(answers: &Answers) -> Line {
    let all = answers.answers.len();
    match answers.answers.iter().filter(|answer| !answer.agrees).count() {
        0 => Line::new().with(Role::Good, "agrees").text(format!(": {all} known answers, all of them given.")),
        wrong => Line::new().with(Role::Error, "differs").text(format!(
            ": of {all} known answers {wrong} are not given. Do not trust a replay of this program here."
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(agrees: bool) -> Answers {
        let mut answers = Answers::default();
        let answer = |question: &str, got: &str, agrees| Answer {
            subject: "sums",
            question: question.to_owned(),
            expected: "4".to_owned(),
            got: got.to_owned(),
            agrees,
        };
        answers.answers = vec![answer("2 + 2", "4", true), answer("1 + 3", "5", agrees)];
        answers.agrees = agrees;
        answers
    }

    #[test]
    fn what_differs_is_marked() {
        let shown = text(&answers(false), Style::plain(80));
        assert!(shown.contains("1 + 3          4         5    DIFFERS\n"), "{shown}");
        assert!(shown.contains("differs: of 2 known answers 1 are not given."), "{shown}");
        assert!(!text(&answers(true), Style::plain(80)).contains("DIFFERS"));
    }
}

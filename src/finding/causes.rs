//! Causes before symptoms: which finding is a consequence of which other one. The edges stand here and nowhere else.
use super::{Code, Folded};
use std::cmp::Reverse;

/// (symptom, causes): the first cause that was found in the symptom's first window, or before it, is named.
const EDGES: &[(Code, &[Code])] = {
    use Code::*;
    &[
        (GA201, &[GA310, GA601, GA204, GA203]),
        (GA202, &[GA303, GA304, GA401, GA501, GA506, GA310, GA601, GA204, GA203]),
        (GA203, &[GA310, GA601, GA204]),
        (GA204, &[GA310, GA601]),
        (GA205, &[GA303, GA304, GA401, GA501, GA506, GA507, GA203]),
        (GA207, &[GA303, GA304, GA401, GA402, GA501, GA506, GA203]),
        (GA302, &[GA310, GA301, GA601]),
        (GA304, &[GA301]),
        (GA305, &[GA302, GA301, GA504]),
        (GA306, &[GA302]),
        (GA307, &[GA302, GA306, GA310, GA301]),
        (GA308, &[GA301, GA306]),
        (GA310, &[GA601]),
        (GA311, &[GA301, GA308]),
        (GA404, &[GA401]),
        (GA405, &[GA401, GA404, GA402]),
        (GA502, &[GA504]),
        (GA503, &[GA502, GA501]),
        (GA504, &[GA301]),
        (GA505, &[GA504, GA502, GA501, GA508]),
        (GA506, &[GA301]),
        (GA507, &[GA501]),
        (GA508, &[GA501]),
        (
            GA701,
            &[
                GA303, GA304, GA401, GA404, GA501, GA503, GA502, GA506, GA507, GA310, GA301, GA405, GA601, GA204,
                GA203, GA504, GA505, GA703,
            ],
        ),
        (GA702, &[GA405, GA307]),
    ]
};

/// The cause of each finding, if it has one among the others, beside it; errors first, causes first, then those with
/// most instances.
pub fn in_order(folded: Vec<Folded>) -> Vec<(Folded, Option<Code>)> {
    let first_window = |folded: &Folded| folded.windows.first().copied().unwrap_or(0);
    let cause_of = |symptom: &Folded| {
        let (_, causes) = EDGES.iter().find(|(code, _)| *code == symptom.code)?;
        let found = |cause: &&Code| {
            folded.iter().any(|f| {
                f.code == **cause && f.severity <= symptom.severity && first_window(f) <= first_window(symptom)
            })
        };
        causes.iter().find(found).copied()
    };
    let causes: Vec<Option<Code>> = folded.iter().map(cause_of).collect();
    let mut ordered: Vec<_> = folded.into_iter().zip(causes).collect();
    ordered.sort_by_key(|(folded, cause)| (folded.severity, cause.is_some(), Reverse(folded.count), folded.code));
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Finding, Findings, Place};

    #[test]
    fn no_edge_leads_back() {
        // Follow the causes of every code: none may come round to itself.
        fn reaches(from: Code, to: Code) -> bool {
            let causes = EDGES.iter().filter(|(symptom, _)| *symptom == from).flat_map(|(_, causes)| causes.iter());
            causes.into_iter().any(|&cause| cause == to || reaches(cause, to))
        }
        for (symptom, _) in EDGES {
            assert!(!reaches(*symptom, *symptom), "{symptom} causes itself");
        }
    }

    #[test]
    fn a_cause_in_a_later_window_is_none() {
        let mut findings = Findings::default();
        findings.report(Finding::new(Code::GA203, Place::window(0), "weights"));
        findings.report(Finding::new(Code::GA601, Place::window(4), "tail"));
        findings.report(Finding::new(Code::GA201, Place::window(0), "loss"));
        let ordered = in_order(findings.into_folded());
        let caused: Vec<_> = ordered.iter().map(|(folded, cause)| (folded.code, *cause)).collect();
        assert_eq!(caused, [(Code::GA203, None), (Code::GA601, None), (Code::GA201, Some(Code::GA203))]);
    }
}

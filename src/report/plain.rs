//! What a finding means to someone who has never seen this tool: one clause a code.
//!
//! The rule's page says why and what to do; this says what is wrong, in the words of a training loop.
use crate::finding::Code;
use crate::finding::Severity;
use crate::rules;

/// What is wrong, as a sentence without its full stop.
pub fn wrong(code: Code, severity: Severity) -> &'static str {
    match (code, severity) {
        // Two warnings of which some cases are errors.
        (Code::GA206, Severity::Error) => "A microbatch without valid targets has a loss or a gradient all the same",
        (Code::GA402, Severity::Error) => "Gradients that were summed over ranks already were summed again",
        _ => usually_wrong(code),
    }
}

fn usually_wrong(code: Code) -> &'static str {
    match code {
        Code::GA101 => "The manifest is not valid JSON",
        Code::GA102 => "The manifest is of a kind or version that this tool does not know",
        Code::GA103 => "The manifest lacks a field, has an unknown one, or has one of the wrong type",
        Code::GA104 => "An object has the same key twice",
        Code::GA105 => "A count is negative, no integer, or too large to be exact",
        Code::GA106 => "A number is not finite",
        Code::GA107 => "A name has characters that names may not have",
        Code::GA108 => "Two microbatches have the same name",
        Code::GA109 => "A gradient vector is there but of another length than declared, or not for every microbatch",
        Code::GA110 => "The ranks are not those that the contract declares",
        Code::GA111 => "A window is missing, or comes back after it was left",
        Code::GA112 => "Ranks have different numbers of microbatches in the same window",
        Code::GA113 => "A window has no valid targets at all",
        Code::GA114 => "Ranks treat the short window at the end of the data differently",
        Code::GA115 => "The manifest is larger or deeper than this tool reads",
        Code::GA116 => "A referenced file is missing, changed, or outside the manifest's folder",
        Code::GA117 => "The files of one run carry different contracts",
        Code::GA118 => "The contract cannot be fulfilled",
        Code::GA201 => "The logged loss is not the loss of the update",
        Code::GA202 => "The logged gradient is not what the recorded microbatches add up to",
        Code::GA203 => "The gradient followed other weights than the declared ones",
        Code::GA204 => "The run divided by another count than the window's valid targets",
        Code::GA205 => "A recorded gradient norm is not the norm of the gradient",
        Code::GA206 => "A microbatch has no valid targets",
        Code::GA207 => "The gradient buffers did not grow by what each microbatch added",
        Code::GA208 => "Evidence that the contract requires was not recorded",
        Code::GA301 => "An update was not stepped exactly once, after its last backward",
        Code::GA302 => "The learning-rate scheduler ticked more or less often than declared",
        Code::GA303 => "Gradients were cleared in the middle of an update, so a part of them was lost",
        Code::GA304 => "Gradients were not cleared after an update, so they leaked into the next one",
        Code::GA305 => "The events of an update stand in the wrong order",
        Code::GA306 => "A skipped update moved a clock that it should hold, or held one that it should move",
        Code::GA307 => "A learning rate is off the declared schedule",
        Code::GA308 => "The run miscounts its own updates",
        Code::GA309 => "Gradients were cleared twice",
        Code::GA310 => "Updates were made of another number of microbatches than declared",
        Code::GA311 => "A checkpoint or evaluation carries the wrong update number",
        Code::GA401 => "The last microbatch of an update did not synchronise, so each rank trains a model of its own",
        Code::GA402 => "Gradients were all-reduced more often than necessary",
        Code::GA403 => "Forward and backward disagree about no_sync",
        Code::GA404 => "Ranks synchronise in different microbatches, so the collective can hang",
        Code::GA405 => "Ranks hold different gradients or parameters after synchronising",
        Code::GA501 => "The loss scale was not divided out exactly once, after the last backward",
        Code::GA502 => "The loss scale changed in the middle of an update",
        Code::GA503 => "Another loss scale was divided out than was multiplied in",
        Code::GA504 => "The loss scaler was not updated exactly once per update",
        Code::GA505 => "The loss scale does not follow the declared policy",
        Code::GA506 => "Gradients were not clipped exactly once per update, at the declared norm",
        Code::GA507 => "Gradients were clipped while still multiplied by the loss scale",
        Code::GA508 => "An update with NaN or infinite gradients was applied, or a finite one skipped",
        Code::GA601 => "The incomplete update at the end of the data was not treated as declared",
        Code::GA602 => "The run does not go on from what the previous receipt carried over",
        Code::GA701 => "Executed, the recorded events do not give the update of one big batch",
        Code::GA702 => "The recorded parameters did not move as the declared optimizer moves them",
        Code::GA703 => "Blocks that the replay ran again did not come out with the same bits",
        Code::GA801 => "The receipt was changed after it was sealed",
        Code::GA802 => "The receipt is not the one that the manifest gives",
        Code::GA803 => "The receipt is of a kind or version that this tool does not know",
    }
}

/// A section of a rule's page, without its heading; empty where the page lacks it.
pub fn section_of(code: Code, title: &str) -> String {
    let docs = rules::all().find(|rule| rule.code == code).map_or("", |rule| rule.docs);
    let lines = docs.lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
    let body = lines.skip_while(|line| line.trim_start_matches("## ") != title || !line.starts_with("## ")).skip(1);
    let body: Vec<&str> = body.take_while(|line| !line.starts_with("## ")).collect();
    body.join("\n").trim().to_owned()
}

/// A paragraph on one line.
pub fn one_line(paragraph: &str) -> String {
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::CODES;

    #[test]
    fn clauses_are_sentences_without_a_full_stop() {
        for (&code, severity) in CODES.iter().flat_map(|code| [(code, Severity::Error), (code, Severity::Warning)]) {
            let text = wrong(code, severity);
            assert!(text.starts_with(|c: char| c.is_ascii_uppercase()) && !text.ends_with('.'), "{code}: {text}");
        }
    }

    #[test]
    fn pages_have_their_sections() {
        for rule in rules::all() {
            assert!(!section_of(rule.code, "What to do").is_empty(), "{}", rule.code);
            assert!(!section_of(rule.code, "What to do").contains("## "), "{}", rule.code);
        }
        assert_eq!(section_of(Code::GA203, "What nobody wrote"), "");
    }
}

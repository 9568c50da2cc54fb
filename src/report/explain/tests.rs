//! Whole reports, of receipts made by hand.
use super::*;
use crate::finding::Code;
use crate::finding::Place;
use crate::ledger::counterexample::frozen;
use crate::manifest::identifier::Opaque;
use crate::report::testing;
use crate::report::testing::Made;
use serde_json::json;
use tabled::grid::util::string::get_string_width;

fn shown(receipt: &Receipt, width: usize) -> String {
    text(&Shown::new(receipt, "run.jsonl"), None, Style::plain(width)).expect("no window was asked for")
}

/// One section of a report.
fn section<'a>(report: &'a str, title: &str) -> &'a str {
    let start = report.find(&format!("\n{title}\n")).unwrap_or_else(|| panic!("no {title}: {report}"));
    let body = &report[start + title.len() + 2..];
    let end = body.match_indices("\n\n").map(|(at, _)| at + 1).find(|&at| !body[at + 1..].starts_with(' '));
    &body[..end.unwrap_or(body.len())]
}

#[test]
fn the_first_lines_say_what_and_how_at_any_width() {
    let receipt = testing::violated(&[&testing::MEAN_OF_MEANS]);
    let lines = "\
violated: run.jsonl
What is wrong: Each microbatch's loss was averaged by itself, and then the averages were averaged, so targets in short microbatches counted up to 3.33 times as much as they should: every target of an update was declared to count the same. (Recipe: mean-of-means.)
What to change: Sum each microbatch's loss (`reduction=\"sum\"`) and divide by the valid targets of the whole update.

What was declared
";
    for width in [40, 80, 200, usize::MAX] {
        let text = shown(&receipt, width);
        assert!(text.starts_with(lines), "{text}");
        let body = text.lines().skip(4);
        assert!(body.clone().all(|line| get_string_width(line) <= width), "{width}: {text}");
    }
}

#[test]
fn violated_by_a_mean_of_means() {
    let text = shown(&testing::violated(&[&testing::MEAN_OF_MEANS, &testing::RIGHT]), 80);
    assert_eq!(
        section(&text, "What happened"),
        "  2 windows, 6 microbatches, 20 valid targets; 2 updates applied.

  - error GA203 weight-drift (2 instances; windows 0, 1). The gradient followed
    other weights than the declared ones. The worst: weight 0.3333333333333333
    where token-mean/1 gives 0.1, a factor of 3.333.
    - error GA201 loss-drift (window 0). The logged loss is not the loss of the
      update: logged loss 0.5333333333333333.
"
    );
    assert_eq!(
        section(&text, "Which recipe explains it"),
        "  mean-of-means explains every backward loss.

  recipe    mean-of-means, weight f = c/(W·k·n). It explains every judged
            window.
  in words  Each microbatch's loss was averaged by itself, and then the averages
            were averaged. A target in a short microbatch counts for more than
            one in a long microbatch, so the update has another direction than
            one big batch's.
  seen in   Transformers up to 4.45, Accelerate's and Lightning's plain loops,
            DeepSpeed, Megatron by default, nanotron

  f: what multiplies a microbatch's summed loss; n: the microbatch's valid
  targets; k: microbatches per rank really in the window; W: ranks; c: W where
  gradients are averaged over ranks, else 1.
"
    );
    assert_eq!(
        section(&text, "Where worst"),
        "  rule        GA203 weight-drift
  window      0
  rank        0
  event       3 of the rank, counted from 0
  field       /backward/backward_loss
  microbatch  w0-m2 (rank 0, backward 2): weight 0.333333 where 0.1 was
              declared, 3.33333 times its fair share

  Microbatch by microbatch: `receipt explain run.jsonl --window 0`
"
    );
}

#[test]
fn the_worst_windows_are_shown_and_the_others_counted() {
    // Every window further off than the one before.
    let windows: Vec<Vec<Made>> =
        (0..1000).map(|index| vec![(1, 1.0, 1.0 + f64::from(index) / 100.0), (1, 1.0, 1.0)]).collect();
    let windows: Vec<&[Made]> = windows.iter().map(Vec::as_slice).collect();
    let text = shown(&testing::violated(&windows), 100);
    let section = section(&text, "By how much");
    assert!(section.starts_with("  999 of 1000 windows are off, the worst first."), "{section}");
    let rows: Vec<&str> = section.lines().filter(|line| line.contains("  2 ")).collect();
    assert_eq!(rows.len(), 8, "{section}");
    assert!(rows[0].trim_start().starts_with("999 "), "{section}");
    assert!(section.ends_with("  991 more windows, less far off, not shown.\n"), "{section}");
    assert!(text.contains("GA203 weight-drift (1000 instances; windows 0–15 and more)"), "{text}");
    assert!(text.lines().count() < 120, "{text}");
}

#[test]
fn a_log_that_tells_the_loss_made_has_no_columns_of_its_own() {
    let mut receipt = testing::violated(&[&testing::MEAN_OF_MEANS]);
    let (made, declared) = (8.0 / 15.0, 0.64);
    let window = &mut receipt.windows.as_mut().expect("windows")[0];
    window.accumulated.loss = Some(testing::finite(made));
    let claim = json!({"rank": 0, "event": 4, "loss": {"recorded": made, "expected": declared}});
    window.logged = vec![serde_json::from_value(claim).expect("a claim")];
    let by_how_much = |receipt: &Receipt| section(&shown(receipt, 200), "By how much").to_owned();
    let equal = by_how_much(&receipt);
    assert!(equal.contains("loss made and logged  loss off (%)  worst weight off (%)"), "{equal}");
    assert!(equal.contains("  16.7 ") && equal.contains("  233"), "{equal}");
    receipt.windows.as_mut().expect("windows")[0].accumulated.loss = Some(testing::finite(declared));
    let apart = by_how_much(&receipt);
    assert!(apart.contains("loss made  loss off (%)         loss logged  log off (%)"), "{apart}");
}

#[test]
fn the_example_is_a_table_only_where_arithmetic_is_wrong() {
    const TITLE: &str = "What a mean of means would make of it";
    let mut receipt = testing::violated(&[&testing::MEAN_OF_MEANS]);
    let text = shown(&receipt, 120);
    let table = section(&text, TITLE);
    assert!(table.contains("\n  w0-m1          0      1                6"), "{table}");
    receipt.microbatches = None;
    let text = shown(&receipt, 120);
    let table = section(&text, TITLE);
    assert!(table.contains("\n     0      1                6"), "{table}");
    receipt.findings = vec![testing::finding(Code::GA303, Place::window(0), "lost")];
    let text = shown(&receipt, 200);
    assert_eq!(section(&text, TITLE).lines().count(), 1, "{text}");
    assert!(section(&text, TITLE).contains("from the token mean. All losses over"), "{text}");
}

#[test]
fn a_control_says_so() {
    let mut receipt = testing::receipt(&[&[(2, 1.0, 1.0), (2, 3.0, 1.0)]]);
    let diagnosis = receipt.diagnosis.as_mut().expect("a diagnosis");
    diagnosis.control = true;
    receipt.counterexample = Some(frozen());
    let text = shown(&receipt, 80);
    assert!(
        text.starts_with(
            "verified: run.jsonl\nThe window made the declared update: nothing recorded contradicts token-mean/1. But \
             it is a control: a wrong recipe would have recorded the same numbers.\n\n"
        ),
        "{text}"
    );
    assert_eq!(
        section(&text, "What a mean of means would make of it"),
        "  This run is a control: it cannot tell the declared recipe from another one, so
  that agreeing proves little.
"
    );
}

#[test]
fn rejected() {
    let shape = testing::finding(Code::GA103, Place::document("/contract"), "unknown field `formulas`");
    let twice = testing::finding(Code::GA108, Place::event(0, 4).in_window(1), "`m0` is given twice");
    assert_eq!(
        shown(&testing::rejected(vec![shape, twice]), 80),
        "\
rejected: run.jsonl
What is wrong: The manifest lacks a field, has an unknown one, or has one of the wrong type: unknown field `formulas`. Also: 1 more fault. Nothing was computed.
What to change: Compare with what `receipt schema manifest` prints, or for a `.jsonl` file `receipt schema microbatches`: its line 1 must be the header.

Why it was rejected
  - error GA103 unexpected-shape. The manifest lacks a field, has an unknown
    one, or has one of the wrong type: unknown field `formulas`.
  - error GA108 duplicate-microbatch (window 1). Two microbatches have the same
    name: `m0` is given twice.

Where worst
  rule   GA103 unexpected-shape
  field  /contract

What else to change
  GA108 duplicate-microbatch: Give each forward and backward pass its own name;
  in the second epoch the same data gets a new one.

What this does not say
  - Nothing was replayed.
"
    );
}

#[test]
fn one_window_microbatch_by_microbatch() {
    let receipt = testing::violated(&[&testing::MEAN_OF_MEANS, &testing::RIGHT]);
    let shown = Shown::new(&receipt, "run.jsonl");
    let report = |width| text(&shown, Some(0), Style::plain(width)).expect("a window");
    assert_eq!(
        section(&report(120), "Window 0"),
        "  holds   3 microbatches, 10 valid targets
  losses  declared 0.64, made 0.5333333333333334, mean of means 0.5333333333333333 (nats per target)
  update  update 0, applied
  events  1 × zero_grad, 3 × backward, 1 × optimizer_step

  microbatch  rank  n  summed loss  mean (nats per target)  weight declared  weight seen  seen over declared
  ──────────────────────────────────────────────────────────────────────────────────────────────────────────
  w0-m0          0  3          1.2                     0.4              0.1    0.111111             1.11111
  w0-m1          0  6          4.8                     0.8              0.1    0.0555556            0.555556
  w0-m2          0  1          0.4                     0.4              0.1    0.333333             3.33333

  What one target counted for, as a multiple of its fair share. A right bar ends at the line.

  rank 0 #0, n 3  ████████████│█▍                            1.11111
  rank 0 #1, n 6  ██████▋     │                              0.555556
  rank 0 #2, n 1  ████████████│████████████████████████████  3.33333
"
    );
    assert!(report(40).lines().skip(4).all(|line| get_string_width(line) <= 40), "{}", report(40));
    let missing = text(&shown, Some(7), Style::plain(80)).expect_err("no such window");
    assert_eq!(missing.to_string(), "the run has no window 7: it has windows 0, 1");
    let summary = Receipt { microbatches: None, ..receipt.clone() };
    let missing = text(&Shown::new(&summary, "run.jsonl"), Some(0), Style::plain(80)).expect_err("no microbatches");
    assert_eq!(missing, NoSuchWindow::NoDetail);
}

/// A receipt with hostile strings wherever a manifest can put them.
fn hostile() -> Receipt {
    let text = "\u{1b}[2J\u{202e}<script>|a\n::error::b ##[error] @all #1 `c`";
    let mut receipt = testing::violated(&[&testing::MEAN_OF_MEANS]);
    receipt.findings[0].message = text.to_owned();
    receipt.findings[0].place.field = Some(text.to_owned());
    let contract = receipt.contract.as_mut().expect("a contract");
    contract.software.insert(Opaque::new("a|b").expect("short"), Opaque::new(text).expect("short"));
    receipt.limitations = vec![text.to_owned()];
    receipt
}

#[test]
fn hostile_text_is_harmless_in_text() {
    let receipt = hostile();
    let shown = Shown::new(&receipt, "::set-output name=a::\u{7}\n::error::x");
    for width in [20, 40, 80, 200] {
        let text = text(&shown, None, Style::plain(width)).expect("no window was asked for");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()) && !text.contains('\u{202e}'), "{text}");
        assert!(text.lines().all(|line| !line.trim_start().starts_with("::") && !line.contains("##[")), "{text}");
    }
}

#[test]
fn hostile_text_is_harmless_in_markdown() {
    let receipt = hostile();
    let report = markdown(&Shown::new(&receipt, "a|b`<b>\u{1b}"), None).expect("no window was asked for");
    assert!(
        report.starts_with("**violated**: ``a|b`<b>\\u{1b}``\n\n**What is wrong:** Each microbatch's loss"),
        "{report}"
    );
    let message = "\\\\u{1b}\\[2J\\\\u{202e}&lt;script&gt;\\|a \\:\\:error\\:\\:b \
                   #<!-- -->#<!-- -->\\\\u{5b}error\\] @<!-- -->all #<!-- -->1 \\`c\\`";
    assert!(report.contains(&format!("\n- {message}.\n")), "{report}");
    assert!(report.contains(&format!("- **software**: a\\|b {message}\n")), "{report}");
    let in_code = "`` \\u{1b}[2J\\u{202e}<script>|a\\u{a}::error::b ##\\u{5b}error] @all #1 `c` ``";
    assert!(report.contains(in_code) && !report.replace(in_code, "").contains("<script"), "{report}");
    assert!(!report.contains('\u{1b}') && report.lines().all(|line| !line.trim_start().starts_with("::")), "{report}");
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let rows: Vec<&str> = report.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 6 && rows.windows(2).all(|two| bars(two[0]) == bars(two[1]) || bars(two[0]) != 0), "{report}");
}

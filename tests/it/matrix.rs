//! Every rule over every fixture: `fixtures/matrix.txt` is committed, so that a rule that fires where it did not, or no
//! longer fires where it did, is seen in review. `UPDATE=1 cargo test` rewrites it, and each rule's `expected.txt`.
use crate::fixtures::{self, Fixture};
use crate::runs;
use receipt::finding::{CODES, Code, Severity};
use std::collections::BTreeSet;
use std::path::Path;

fn line(fixture: &Fixture) -> String {
    let outcome = fixture.outcome();
    let code = |(code, severity, count): &(Code, Severity, u64)| {
        let warning = if *severity == Severity::Warning { "(w)" } else { "" };
        format!(" {code}{warning}×{count}")
    };
    let codes: String = outcome.codes.iter().map(code).collect();
    format!("{:<80} {}{codes}\n", fixture.name, outcome.verdict)
}

#[test]
fn every_rule_over_every_fixture() {
    let text: String = fixtures::all().iter().map(line).collect();
    runs::assert_fresh(&runs::fixture("matrix.txt"), &text);
}

/// The code that a folder is about; its name is `GA203-weight-drift`.
fn code_of(folder: &Path) -> Code {
    let name = folder.file_name().and_then(|name| name.to_str()).expect("UTF-8");
    let code = CODES.iter().copied().find(|code| name == format!("{code}-{}", code.name()));
    code.unwrap_or_else(|| panic!("fixtures/rules/{name} names no rule"))
}

#[test]
fn every_code_has_fixtures_and_no_folder_names_a_dead_one() {
    let folders: BTreeSet<Code> = fixtures::rule_folders().iter().map(|folder| code_of(folder)).collect();
    let missing: Vec<_> = CODES.iter().filter(|code| !folders.contains(code)).collect();
    assert!(missing.is_empty(), "no fixtures of {missing:?}");
}

#[test]
fn bad_fires_the_rule_and_good_fires_nothing() {
    let mut faults = vec![];
    for folder in fixtures::rule_folders() {
        let code = code_of(&folder);
        let (good, bad) = (fixtures::of_rule(&folder, "good"), fixtures::of_rule(&folder, "bad"));
        if good.is_empty() || bad.is_empty() {
            faults.push(format!("{}: a good and a bad fixture are wanted", folder.display()));
        }
        for fixture in good {
            let found = fixture.outcome();
            if !found.codes.is_empty() {
                faults.push(format!("{} fires {:?}", fixture.name, found.lines));
            }
        }
        for fixture in bad {
            let found = fixture.outcome();
            if !found.codes.iter().any(|(fired, ..)| *fired == code) {
                faults.push(format!("{} fires {:?}, not {code}", fixture.name, found.lines));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn bad_fixtures_give_the_findings_expected_of_them() {
    for folder in fixtures::rule_folders() {
        let told = |fixture: &Fixture| {
            let outcome = fixture.outcome();
            let lines: String = outcome.lines.iter().map(|line| format!("  {line}\n")).collect();
            format!("{}: {}\n{lines}", fixture.file(), outcome.verdict)
        };
        let text: String = fixtures::of_rule(&folder, "bad").iter().map(told).collect();
        runs::assert_fresh(&folder.join("expected.txt"), &text);
    }
}

/// How many codes a bad fixture of a rule may fire beside its own. One cause should give one finding; what else follows
/// from it has to name it as its cause.
#[test]
fn what_else_a_bad_fixture_fires_names_its_cause() {
    let mut strays = vec![];
    for folder in fixtures::rule_folders() {
        let code = code_of(&folder);
        for fixture in fixtures::of_rule(&folder, "bad").iter().filter(|fixture| !fixture.inputs().is_empty()) {
            if code.as_str().starts_with("GA8") {
                continue;
            }
            for finding in &runs::receipt(&fixture.verify()).findings {
                if finding.code != code && finding.caused_by.is_none() && !finding.code.rejects() {
                    strays.push(format!("{}: {} {}", fixture.name, finding.code, finding.message));
                }
            }
        }
    }
    assert!(strays.is_empty(), "\n{}\n", strays.join("\n"));
}

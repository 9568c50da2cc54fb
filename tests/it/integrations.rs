//! What others run: completions, manual pages, the pre-commit hook and the GitHub action, by the commands that they hold.
use crate::runs::{self, binary};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Every command, as the help lists them.
fn commands() -> Vec<String> {
    let help = binary::run(["--help"]).out;
    let (_, list) = help.split_once("\nCommands:\n").expect("a list of commands");
    let (list, _) = list.split_once("\n\n").expect("an end of the list");
    // A line that goes on from the one before is indented further.
    let names = list.lines().filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    let names: Vec<String> = names.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
    assert!(names.len() > 10 && names.iter().any(|name| name == "verify"), "{help}");
    names
}

#[test]
fn the_readme_knows_every_command() {
    let readme = fs::read_to_string("README.md").expect("the README");
    let missing: Vec<_> = commands().into_iter().filter(|name| !readme.contains(&format!("`receipt {name}"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn exit_codes_are_told_alike_everywhere() {
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = |text: &str| joined(text).replace("\\-", "-");
    let (help, whole) = (joined(&binary::run(["--help"]).out), plain(&binary::run(["man"]).out));
    let (verify, check) = (plain(&binary::run(["man", "verify"]).out), plain(&binary::run(["man", "check"]).out));
    let readme = fs::read_to_string("README.md").expect("the README");
    let (_, table) = readme.split_once("| code | `verify` | other commands |\n| --- | --- | --- |\n").expect("a table");
    let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 5);
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [code, of_verify, of_others] = cells[..] else { panic!("{row}") };
        let others = if of_others.is_empty() { String::new() } else { format!("; other commands: {of_others}") };
        assert!(help.contains(&format!("{code} {of_verify}{others}")), "{row}\n{help}");
        let told = |meaning: &str| format!(".TP \\fB{code}\\fR {meaning}");
        assert!(whole.contains(&told(&format!("{of_verify}{others}"))), "{row}\n{whole}");
        assert!(verify.contains(&format!("{} .", told(of_verify))), "{row}\n{verify}");
        assert!(check.contains(&told(if of_others.is_empty() { of_verify } else { of_others })), "{row}\n{check}");
    }
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let commands = commands();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = binary::run(["completions", shell]);
        assert_eq!(script.code, 0, "{shell}");
        let missing: Vec<&str> =
            commands.iter().map(String::as_str).filter(|command| !script.out.contains(command)).collect();
        assert!(missing.is_empty(), "{shell}: {missing:?}");
    }
    let page = binary::run(["man"]);
    assert!(page.out.starts_with(".ie") || page.out.starts_with(".TH"), "{}", page.out);
    let package = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));
    let title = |name: &str| format!("\n.TH {name} 1 \"\" \"{package}\" \"receipt manual\"\n.SH NAME\n");
    assert!(page.out.contains(&title("receipt")), "{}", page.out);
    for command in &commands {
        assert!(page.out.contains(&format!("receipt\\-{command}(1)")), "{command}: {}", page.out);
        let page = binary::run(["man", command]);
        assert!(page.code == 0 && page.out.contains(&title(&format!("receipt-{command}"))), "{command}: {}", page.out);
    }
    assert!(binary::run(["man", "verify"]).out.contains("Write the receipt to this file"));
    assert_eq!(binary::run(["man", "nothing"]).code, 2);
    assert_eq!(binary::run(["completions", "tcsh"]).code, 2);
}

/// Runs a script with `receipt` on the path.
fn bash(script: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_receipt")).parent().expect("a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([program].into_iter().chain(std::env::split_paths(&path))).expect("a path");
    let mut command = Command::new("bash");
    command.args(["-c", script, "bash"]).args(arguments).env("PATH", path).envs(variables.iter().copied());
    command.output().expect("bash runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[test]
fn the_hook_verifies_each_file_by_itself() {
    let hooks = fs::read_to_string(".pre-commit-hooks.yaml").expect("the hooks");
    let entry = hooks.lines().find_map(|line| line.trim().strip_prefix("entry: ")).expect("an entry");
    let script = format!("{entry} \"$@\"");
    let good = "fixtures/worked/three-six-one.json";
    let bad = "fixtures/worked/readme.jsonl";
    for (files, code) in [(vec![good], 0), (vec![good, "fixtures/worked/two-and-four.json"], 0), (vec![bad, good], 1)] {
        let output = bash(&script, &files, &[]);
        assert_eq!(output.status.code(), Some(code), "{files:?}: {output:?}");
        let verdicts = text(&output.stdout);
        assert_eq!(verdicts.matches("verified: ").count() + verdicts.matches("violated: ").count(), files.len());
    }
}

/// The script of the action's last step.
fn action() -> String {
    let action = fs::read_to_string("action.yml").expect("the action");
    let (_, script) = action.rsplit_once("run: |\n").expect("a script");
    script.lines().map(|line| format!("{}\n", line.strip_prefix("        ").unwrap_or(line))).collect()
}

#[test]
fn the_action_annotates_summarises_and_fails_by_the_verdict() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (summary, sarif, html, receipt) = (file("summary.md"), file("r.sarif"), file("r.html"), file("r.json"));
    let run = |manifests: &str| {
        fs::write(&summary, "").expect("a file");
        let variables = [
            ("MANIFESTS", manifests),
            ("GITHUB_STEP_SUMMARY", &summary),
            ("SARIF", &sarif),
            ("HTML", &html),
            ("RECEIPT", &receipt),
        ];
        bash(&action(), &[], &variables)
    };
    let wrong = run("fixtures/worked/readme.jsonl\n");
    assert_eq!(wrong.status.code(), Some(1), "{wrong:?}");
    let annotated = text(&wrong.stdout);
    assert!(annotated.starts_with("::error file=fixtures/worked/readme.jsonl,line=4,col=105,"), "{annotated}");
    assert!(fs::read_to_string(&summary).expect("a summary").starts_with("**violated**: "));
    assert!(fs::read_to_string(&sarif).expect("SARIF").contains("\"ruleId\": \"GA203\""));
    assert!(fs::read_to_string(&html).expect("HTML").starts_with("<!DOCTYPE html>"));
    assert!(fs::read_to_string(&receipt).expect("a receipt").contains("\"verdict\":\"violated\""));
    let right = run("\nfixtures/worked/two-rank-loop/rank-*.jsonl\n");
    assert_eq!(right.status.code(), Some(0), "{right:?}");
    assert_eq!(run("fixtures/worked/two-ranks-tail-disagreement.json").status.code(), Some(3));
    assert_eq!(run("$(touch x)`touch y`; touch z").status.code(), Some(2), "an input is no command");
    assert!(["x", "y", "z"].iter().all(|name| !Path::new(name).exists()));
    assert!(runs::fixture("worked/readme.jsonl").exists());
}

#[test]
fn the_formats_in_the_guide_are_those_that_there_are() {
    let guide = fs::read_to_string("docs/ci.md").expect("the guide");
    let help = binary::run(["verify", "--help"]);
    for format in ["text", "json", "sarif", "junit", "github", "gitlab"] {
        assert!(guide.contains(&format!("| `{format}` |")) && help.out.contains(&format!("- {format}:")), "{format}");
    }
}

//! Progress on a terminal: shown where work takes long, gone when it is done, never anywhere else.
//!
//! A terminal is made by util-linux' `script`; where it is missing, these tests are skipped.
use crate::runs::{self, binary};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What the program wrote to its standard output, and to a terminal as its standard error.
struct Ran {
    out: String,
    terminal: String,
}

/// `receipt verify -` on a terminal of this kind, its input coming after so many seconds.
fn verify(seconds: &str, term: &str) -> Option<Ran> {
    if !is_util_linux() {
        #[allow(clippy::print_stderr, reason = "who runs the tests has to know")]
        {
            eprintln!("skipped: util-linux' `script`, which makes a terminal, is not installed");
        }
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (out, terminal) = (folder.path().join("out"), folder.path().join("terminal"));
    let command = r#"(sleep "$SECONDS_TO_WAIT"; cat "$MANIFEST") | "$RECEIPT" verify --no-replay - > "$OUT""#;
    let status = Command::new("script")
        .args(["--quiet", "--return", "--command", command])
        .arg(&terminal)
        .env("SHELL", "/bin/sh")
        .env("SECONDS_TO_WAIT", seconds)
        .env("MANIFEST", manifest())
        .env("RECEIPT", env!("CARGO_BIN_EXE_receipt"))
        .env("OUT", &out)
        .env("TERM", term)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let status = status.expect("`script` runs");
    assert!(status.success(), "{status}");
    Some(Ran { out: text(&out), terminal: text(&terminal) })
}

/// Other programs of this name have other options.
fn is_util_linux() -> bool {
    let asked = Command::new("script").arg("--version").stdin(Stdio::null()).output();
    asked.is_ok_and(|asked| String::from_utf8_lossy(&asked.stdout).contains("util-linux"))
}

fn manifest() -> PathBuf {
    runs::fixture("worked/three-six-one.json")
}

fn text(path: &Path) -> String {
    String::from_utf8(std::fs::read(path).expect("a file")).expect("UTF-8")
}

/// What `script` recorded between its own first and last line.
fn shown(ran: &Ran) -> String {
    let lines: Vec<&str> = ran.terminal.lines().collect();
    let own = |line: &&&str| !line.starts_with("Script started on ") && !line.starts_with("Script done on ");
    lines.iter().filter(own).copied().collect::<Vec<_>>().join("\n")
}

#[test]
fn work_of_more_than_a_second_is_shown_and_cleared() {
    let Some(long) = verify("2.5", "xterm") else { return };
    let shown = shown(&long);
    assert!(shown.contains("reading 0.0 MB"), "{shown:?}");
    let (_, left) = shown.rsplit_once("\u{1b}[2K").expect("the line is cleared");
    assert_eq!(left.trim(), "", "{shown:?}");
    let piped = binary::run_with_input(["verify", "--no-replay", "-"], &std::fs::read(manifest()).expect("a manifest"));
    assert_eq!((long.out, ""), (piped.out, &*piped.err));
}

#[test]
fn short_work_shows_nothing() {
    let Some(short) = verify("0", "xterm") else { return };
    assert_eq!(shown(&short), "");
    assert!(short.out.contains("verified: "), "{}", short.out);
}

#[test]
fn a_terminal_that_cannot_go_back_is_left_alone() {
    let Some(dumb) = verify("2.5", "dumb") else { return };
    assert_eq!(shown(&dumb), "");
}

#[test]
fn a_pipe_is_left_alone() {
    let mut child = binary::command();
    child.args(["verify", "--no-replay", "-"]).env("TERM", "xterm");
    let mut child = child.stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("a child");
    std::thread::sleep(Duration::from_millis(1500));
    let manifest = std::fs::read(manifest()).expect("a manifest");
    child.stdin.take().expect("a pipe").write_all(&manifest).expect("it reads");
    let ran = child.wait_with_output().expect("it ends");
    assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
}

//! The binary, run and looked at.
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What a run of the binary gave.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Everything that was shown.
    pub(crate) fn shown(&self) -> String {
        format!("{}{}", self.out, self.err)
    }

    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        let code = output.status.code().unwrap_or_else(|| panic!("ended by a signal: {output:?}"));
        let ran = Ran { code, out: text(output.stdout), err: text(output.stderr) };
        assert!(code != 101 && !ran.err.contains("panicked"), "a panic: {}", ran.err);
        ran
    }
}

pub(crate) fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_receipt"))
}

pub(crate) fn run<A: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = A>) -> Ran {
    Ran::of(command().args(arguments).stdin(Stdio::null()).output().expect("the binary runs"))
}

/// Runs with these bytes on standard input.
pub(crate) fn run_with_input<A: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = A>, input: &[u8]) -> Ran {
    let mut child = command();
    child.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    // What is not wanted need not be read.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let ran = Ran::of(child.wait_with_output().expect("the binary ends"));
    writer.join().expect("the writer ends");
    ran
}

/// `receipt verify PATH`.
pub(crate) fn verify(path: &Path) -> Ran {
    run(["verify".as_ref(), path.as_os_str()])
}

//! `receipt bind`: the rank manifest that it writes is the run of its files, and what is no run is not bound.
use crate::runs::binary::{self, Ran};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

const RANKS: [&str; 2] = ["rank-0.jsonl", "rank-1.jsonl"];

/// A folder with the two microbatch manifests of `worked/two-rank-loop`.
struct Run(tempfile::TempDir);

impl Run {
    fn new() -> Self {
        let run = Run(tempfile::tempdir().expect("a folder"));
        for name in RANKS {
            fs::copy(Path::new("fixtures/worked/two-rank-loop").join(name), run.path(name)).expect("copied");
        }
        run
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a file")
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("written");
    }

    fn receipt(&self, names: &[&str]) -> String {
        let start = ["verify", "--no-replay", "--format", "json"].map(OsString::from);
        let ran = binary::run(start.into_iter().chain(names.iter().map(|name| self.path(name).into_os_string())));
        assert_eq!(ran.code, 0, "{}", ran.shown());
        ran.out
    }

    /// `receipt bind --output OUTPUT NAMES`.
    fn bind(&self, output: &str, names: &[&str]) -> Ran {
        let start = ["bind".into(), "--output".into(), self.path(output).into_os_string()];
        binary::run(start.into_iter().chain(names.iter().map(|name| self.path(name).into_os_string())))
    }

    /// Nothing is bound, with this exit code and for this reason; and no file comes or changes.
    fn is_refused(&self, output: &str, names: &[&str], code: i32, why: &str) {
        let before = self.files();
        let ran = self.bind(output, names);
        assert!(ran.code == code && ran.shown().contains(why), "{names:?}: {} {}", ran.code, ran.shown());
        assert_eq!(self.files(), before, "{names:?}");
    }

    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = fs::read_dir(self.0.path()).expect("a folder").map(|entry| entry.expect("an entry").path());
        let mut files: Vec<_> = entries.filter(|path| path.is_file()).collect();
        files.sort();
        files.into_iter().map(|path| (path.clone(), fs::read(path).expect("a file"))).collect()
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::fast());
    encoder.write_all(text.as_bytes()).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn a_bound_run_is_the_run_of_its_files() {
    let run = Run::new();
    let expected = run.receipt(&RANKS);
    run.write("rank-1.jsonl.gz", gzip(&run.text("rank-1.jsonl")));
    run.write("rank-0.jsonl.zst", zstd::encode_all(run.text("rank-0.jsonl").as_bytes(), 1).expect("memory"));
    let shapes = [RANKS, ["rank-1.jsonl", "rank-0.jsonl"], ["rank-1.jsonl.gz", "rank-0.jsonl.zst"]];
    let mut bound = vec![];
    for names in shapes {
        let ran = run.bind("run.json", &names);
        assert!(ran.code == 0 && ran.shown().is_empty(), "{}", ran.shown());
        assert_eq!(run.receipt(&["run.json"]), expected, "{names:?}");
        bound.push(run.text("run.json"));
    }
    assert_eq!(bound[0], bound[1], "the order of arguments is no matter");
    assert_ne!(bound[0], bound[2]);
    run.write("rank-1.jsonl.gz", gzip(&(run.text("rank-1.jsonl") + "\"zero_grad\"\n")));
    let altered = binary::verify(&run.path("run.json"));
    assert!(altered.code == 3 && altered.out.contains("GA116"), "{}", altered.shown());
}

#[test]
fn references_are_below_the_rank_manifest() {
    let run = Run::new();
    fs::create_dir(run.path("part")).expect("a folder");
    fs::rename(run.path("rank-1.jsonl"), run.path("part/rank-1.jsonl")).expect("moved");
    assert_eq!(run.bind("run.json", &["part/rank-1.jsonl", "part/../rank-0.jsonl"]).code, 0);
    let bound: Value = serde_json::from_str(&run.text("run.json")).expect("JSON");
    let names = [0, 1].map(|rank| bound["ranks"][rank]["microbatch_manifest"].as_str().expect("a name"));
    assert_eq!(names, ["rank-0.jsonl", "part/rank-1.jsonl"]);
    run.receipt(&["run.json"]);
    run.is_refused("part/run.json", &["rank-0.jsonl", "part/rank-1.jsonl"], 2, "the rank manifest's folder");
    run.is_refused("none/run.json", &["rank-0.jsonl", "part/rank-1.jsonl"], 2, "cannot write");
    // Without `--output` they are below the current folder.
    let mut command = binary::command();
    let output = command.current_dir(run.0.path()).args(["bind", "part/rank-1.jsonl", "rank-0.jsonl"]).output();
    assert_eq!(output.expect("the binary runs").stdout, run.text("run.json").into_bytes());
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_out_is_not_bound() {
    let run = Run::new();
    let elsewhere = Run::new();
    fs::remove_file(run.path("rank-1.jsonl")).expect("removed");
    std::os::unix::fs::symlink(elsewhere.path("rank-1.jsonl"), run.path("rank-1.jsonl")).expect("a link");
    run.is_refused("run.json", &RANKS, 2, "lies outside");
    run.write("a\\b.jsonl", run.text("rank-1.jsonl"));
    run.is_refused("run.json", &["rank-0.jsonl", "a\\b.jsonl"], 2, "its path contains a backslash");
}

#[test]
fn what_is_no_run_is_not_bound() {
    let run = Run::new();
    let rank_1 = run.text("rank-1.jsonl");
    run.write("contract.jsonl", rank_1.replacen("\"flush\"", "\"carry\"", 1));
    run.write("torn.jsonl", rank_1.trim_end().strip_suffix('"').expect("a last event"));
    run.write("malformed.jsonl", rank_1.replacen("\"applied\"", "\"done\"", 1));
    run.write("double.jsonl", rank_1.replace("\"rank\": 1", "\"rank\": 0"));
    run.write("torn.jsonl.gz", &gzip(&rank_1)[..200]);
    run.write("empty.jsonl", "");
    assert_eq!(run.bind("bound.json", &RANKS).code, 0);
    let with = |other: &'static str| ["rank-0.jsonl", other];
    run.is_refused("run.json", &["rank-0.jsonl"], 3, "GA110");
    run.is_refused("run.json", &with("double.jsonl"), 3, "GA110");
    run.is_refused("run.json", &with("contract.jsonl"), 3, "GA117");
    run.is_refused("run.json", &with("torn.jsonl"), 3, "GA101");
    run.is_refused("run.json", &with("torn.jsonl.gz"), 3, "GA101");
    run.is_refused("run.json", &with("malformed.jsonl"), 3, "GA103");
    run.is_refused("run.json", &with("empty.jsonl"), 3, "GA101");
    run.is_refused("run.json", &with("none.jsonl"), 2, "cannot read");
    run.is_refused("run.json", &["rank-0.jsonl", "../rank-0.jsonl"], 2, "cannot read");
    run.is_refused("run.json", &with("rank-0.jsonl"), 2, "given twice");
    run.is_refused("run.json", &with("bound.json"), 2, "is a rank manifest");
    run.is_refused("run.json", &["bound.json"], 2, "is a rank manifest");
    run.is_refused("rank-0.jsonl", &RANKS, 2, "is an input");
    let standard_input = binary::run(["bind", "-"]);
    assert!(standard_input.code == 2 && standard_input.err.contains("standard input"), "{}", standard_input.err);
}

#[test]
fn a_torn_last_line_can_be_let_be() {
    let run = Run::new();
    let torn = run.text("rank-1.jsonl").trim_end().strip_suffix('"').expect("a last event").to_owned();
    run.write("rank-1.jsonl", torn);
    let [output, a, b] = ["run.json", "rank-0.jsonl", "rank-1.jsonl"].map(|name| run.path(name).into_os_string());
    let ran = binary::run(["bind".into(), "--partial".into(), "--output".into(), output.clone(), a, b]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let verified = binary::run(["verify".into(), "--partial".into(), output]);
    assert_eq!(verified.code, 0, "{}", verified.shown());
}
